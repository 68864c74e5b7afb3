"""Access control: only requests with the token, from the page itself, up to a maximum size."""

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
"""An ASGI application, such as the guard and what it guards."""

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of every response, besides the content security policy."""
ENTRANCE = "/open"
"""The path that takes the token in the body of a request and gives a cookie for it."""
_LONGEST_ENTRANCE = 1000  # bytes of such a body
_LONGEST_LENGTH = (
    18  # digits of a length; longer ones are too large anyway, and Python may refuse to read them
)
_NO_TOKEN = "Open the complete address that `shoal ui` printed, with the token."
_NO_ROOM = "The server stores no more files: the files of all sessions together are too large. End a session."
_NEVER_IN_HOSTS = frozenset("/\\?#@ \t\r\n")


class Guard:
    """An ASGI application that passes permitted requests on to another one.

    Parameters
    ----------
    application
        The application to guard.
    token
        The token, which the first request has as ``?token=`` and later ones as a cookie.
    hosts
        The permitted host names. Numeric addresses are always permitted: no other site can have one as its
        name.
    most_bytes
        Maximum size of the body of a request.
    room
        Returns how many bytes may be stored in addition, by all users together.
    cookie
        The name of the cookie. Cookies are shared by all ports, so each server needs its own name.
    scripts
        The inline scripts of the page; no others run, and none from other hosts.
    messages
        Called once for each websocket. Returns a function that returns a message as it is passed on, or None
        if the page never sends such a message: the connection is then closed. By default all texts pass.
    """

    def __init__(
        self,
        application: Application,
        token: str,
        *,
        hosts: set[str],
        most_bytes: int,
        cookie: str,
        room: Callable[[], int] = lambda: 1 << 62,
        scripts: Sequence[str] = (),
        messages: Callable[[], Callable[[str], str | None]] = lambda: str,
    ) -> None:
        self._application = application
        self._token = token
        self._hosts = hosts
        self._most_bytes = most_bytes
        self._cookie = cookie
        self._room = room
        self._messages = messages
        self._headers = {**HEADERS, "content-security-policy": _policy(scripts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or pass it on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope, headers)
        if self._is_entrance(scope) and self._knows_host(headers.get("host", "")):
            await self._let_in(receive, send)
        elif problem is not None:
            await self._refuse(scope, receive, send, *problem)
        elif scope["type"] == "http" and self._brings_token(scope):
            # The token is removed from the address at once, so that it does not stay in the history.
            await self._welcome(send)
        elif scope["type"] == "http":
            await self._let_through(scope, receive, send)
        else:
            await self._application(scope, self._checking(receive, send), send)

    async def _let_in(self, receive: Receive, send: Send) -> None:
        """Give the cookie for a token in the body: from any origin, because only the user knows the token."""
        body, more = b"", True
        while more and len(body) <= _LONGEST_ENTRANCE:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        given = parse_qs(body[:_LONGEST_ENTRANCE].decode("latin-1")).get("token", ())
        if any(map(self._is_token, given)):
            await self._welcome(send)
        else:
            await self._answer(send, HTTPStatus.FORBIDDEN, _NO_TOKEN)

    async def _welcome(self, send: Send) -> None:
        """Set the cookie and lead to the page.

        The cookie is not `Strict`: browsers would withhold it if the link was on a page of another site.
        What changes anything also needs the right origin.
        """
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Lax"
        await self._answer(send, HTTPStatus.SEE_OTHER, "", {"location": "/", "set-cookie": cookie})

    def _problem(self, scope: Scope, headers: dict[str, str]) -> tuple[HTTPStatus, str] | None:
        """Return why a request is refused; None if it is permitted."""
        if not self._knows_host(headers.get("host", "")):
            return HTTPStatus.FORBIDDEN, "The page is not available under this host name."
        if not self._has_token(scope, headers):
            return HTTPStatus.FORBIDDEN, _NO_TOKEN
        origin = headers.get("origin")
        needs_origin = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (origin is not None or needs_origin) and not _comes_from(origin or "", headers.get("host", "")):
            return HTTPStatus.FORBIDDEN, "This request comes from another page."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _LONGEST_LENGTH or int(length) > self._most_bytes:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._too_large()
        # A body of unknown length may be as large as the limit.
        expected = int(length) if "content-length" in headers else self._most_bytes
        if scope["type"] == "http" and scope["method"] == "POST" and expected > self._room():
            return HTTPStatus.INSUFFICIENT_STORAGE, _NO_ROOM
        return None

    def _knows_host(self, host: str) -> bool:
        """Return whether a host name is permitted: other sites could point their names to this machine."""
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
        # Read by hand: a parser would reject all cookies because of one odd cookie of another server.
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    @staticmethod
    def _is_entrance(scope: Scope) -> bool:
        return bool(scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == ENTRANCE)

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
        if status in (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.INSUFFICIENT_STORAGE):
            await self._drain(receive, 0)
        await self._answer(send, status, message)

    def _checking(self, receive: Receive, send: Send) -> Receive:
        """Return a receiver of websocket messages that passes on only those that the page sends."""
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
        """Discard the rest of a body, up to a limit: browsers read no answer before they have sent it."""
        more = True
        while more and received <= 2 * self._most_bytes:
            message = await receive()
            received += len(message.get("body", b""))
            more = message.get("more_body", False)


def redirect_page(address: str, token: str) -> str:
    """Return a page for a private file, which opens an address without showing the token in it.

    Parameters
    ----------
    address
        The address of the server, without a path.
    token
        The token.
    """
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Shoal</title>'
        f'<form method="post" action="{address}{ENTRANCE}"><input type="hidden" name="token" value="{token}">'
        "<button>Open Shoal</button></form><script>document.forms[0].submit()</script></html>"
    )


def _comes_from(origin: str, host: str) -> bool:
    """Return whether the origin of a request is the page under this host name."""
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
            "style-src 'self' 'unsafe-inline'",  # charts have inline styles
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
