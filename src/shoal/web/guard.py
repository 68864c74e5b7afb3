"""Who may talk to the page: clients with the token, from the page itself, within limits of size."""

from __future__ import annotations

import ipaddress
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""What ASGI calls an application; the guard stands before one and is one itself."""

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""What every answer says about itself, besides its policy."""
_LONGEST_LENGTH = (
    18  # digits of a length: what is longer is too large anyway, and not always a number to Python
)
_NEVER_IN_HOSTS = frozenset("/\\?#@ \t\r\n")


class Guard:
    """An ASGI application that lets some requests through to another one.

    Parameters
    ----------
    application
        What it guards.
    token
        What the first request must bring, as ``?token=``; later ones bring it as a cookie.
    hosts
        The names by which the page may be called. Addresses in numbers are no names: no attacker can make
        another site's name out of one.
    most_bytes
        How large the body of a request may be.
    cookie
        The name of the cookie. Cookies know no ports, so two servers need two names.
    scripts
        The scripts that stand in the page itself; no others may, and none may come from other hosts.
    messages
        Called once for each websocket. Returns a function that tells what a message becomes, or None if the
        page never writes such a message: the connection then ends. By default all texts pass.
    """

    def __init__(
        self,
        application: Application,
        token: str,
        *,
        hosts: set[str],
        most_bytes: int,
        cookie: str,
        scripts: Sequence[str] = (),
        messages: Callable[[], Callable[[str], str | None]] = lambda: str,
    ) -> None:
        self._application = application
        self._token = token
        self._hosts = hosts
        self._most_bytes = most_bytes
        self._cookie = cookie
        self._messages = messages
        self._headers = {**HEADERS, "content-security-policy": _policy(scripts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope, headers)
        if problem is not None:
            await self._refuse(scope, receive, send, *problem)
        elif scope["type"] == "http" and self._brings_token(scope):
            # The token leaves the address at once: it is not to stay in a history.
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await self._answer(send, HTTPStatus.SEE_OTHER, "", {"location": "/", "set-cookie": cookie})
        elif scope["type"] == "http":
            await self._let_through(scope, receive, send)
        else:
            await self._application(scope, self._checking(receive, send), send)

    def _problem(self, scope: Scope, headers: dict[str, str]) -> tuple[HTTPStatus, str] | None:
        """Return why a request is refused; None if it is not."""
        if not self._knows_host(headers.get("host", "")):
            return HTTPStatus.FORBIDDEN, "This page does not go by that name."
        if not self._has_token(scope, headers):
            return (
                HTTPStatus.FORBIDDEN,
                "Open the whole address that `shoal ui` printed: the token in it opens the page.",
            )
        origin = headers.get("origin")
        needs_origin = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (origin is not None or needs_origin) and not _comes_from(origin or "", headers.get("host", "")):
            return HTTPStatus.FORBIDDEN, "This request comes from another page."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _LONGEST_LENGTH or int(length) > self._most_bytes:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._too_large()
        return None

    def _knows_host(self, host: str) -> bool:
        """Return whether a name is ours: another site's name may lead here, too, if its owner wants it to."""
        if set(host) & _NEVER_IN_HOSTS:
            return False
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._hosts
        return True

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        if scope["type"] == "http" and self._brings_token(scope):
            return True
        # By hand: one odd cookie of another server on this machine would spoil all of them for a parser.
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    def _brings_token(self, scope: Scope) -> bool:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        return scope["method"] == "GET" and any(self._is_token(given) for given in query.get("token", ()))

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _too_large(self) -> str:
        return f"The file is larger than {self._most_bytes / 1e6:g} MB, which is the limit of this page."

    async def _refuse(
        self, scope: Scope, receive: Receive, send: Send, status: HTTPStatus, message: str
    ) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: this is a 403
            return
        if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            await self._drain(receive, 0)
        await self._answer(send, status, message)

    def _checking(self, receive: Receive, send: Send) -> Receive:
        """Return a way to receive messages over the websocket that passes on those of the page only."""
        check = self._messages()

        async def checked() -> Message:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            text = message.get("text")
            passed = check(text) if text is not None else None
            if passed is None:
                await send({"type": "websocket.close", "code": 1008})
                return {"type": "websocket.disconnect", "code": 1008}
            return {**message, "text": passed}

        return checked

    async def _let_through(self, scope: Scope, receive: Receive, send: Send) -> None:
        received, answered, too_much = 0, False, False

        async def counted() -> Message:
            nonlocal received, too_much
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most_bytes:
                too_much = True
                if message.get("more_body"):
                    await self._drain(receive, received)
                return {"type": "http.disconnect"}
            return message

        async def with_headers(message: Message) -> None:
            nonlocal answered
            if too_much:
                return
            answered = True
            if message["type"] == "http.response.start":
                theirs = [
                    pair for pair in message.get("headers", ()) if pair[0].decode() not in self._headers
                ]
                message["headers"] = [*theirs, *_encoded(self._headers)]
            await send(message)

        try:
            await self._application(scope, counted, with_headers)
        except Exception:
            if not too_much:
                raise
        if too_much and not answered:
            await self._answer(send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._too_large())

    async def _answer(
        self, send: Send, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        more = {**self._headers, "content-type": "text/plain; charset=utf-8", **(headers or {})}
        await send({"type": "http.response.start", "status": status.value, "headers": list(_encoded(more))})
        await send({"type": "http.response.body", "body": text.encode()})

    async def _drain(self, receive: Receive, received: int) -> None:
        """Throw away the rest of a body: browsers read no answer before they have sent it, up to a limit."""
        more = True
        while more and received <= 2 * self._most_bytes:
            message = await receive()
            received += len(message.get("body", b""))
            more = message.get("more_body", False)


def _comes_from(origin: str, host: str) -> bool:
    """Return whether a request comes from the page that is called by this name."""
    try:
        found = urlsplit(origin)
    except ValueError:
        return False
    return found.scheme in ("http", "https") and bool(host) and found.netloc == host


def _encoded(headers: Mapping[str, str]) -> Iterator[tuple[bytes, bytes]]:
    return ((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items())


def _policy(scripts: Sequence[str]) -> str:
    """Return what the page may load and run."""
    known = [f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in scripts]
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *known)),
            "style-src 'self' 'unsafe-inline'",  # charts carry their styles in themselves
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
