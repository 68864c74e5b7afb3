"""Which requests reach the page: none without the token, from another site, or with too much at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from shoal.web.guard import ENTRANCE, HEADERS, Guard

TOKEN, COOKIE = "secret-token", "shoal-8000"
KNOWN = {"cookie": f"{COOKIE}={TOKEN}"}


async def page(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the length of what was received."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"public")]})
    await send({"type": "http.response.body", "body": str(length).encode()})


class Answer:
    """What came back."""

    def __init__(self, sent: list[Any], read: int) -> None:
        self.kind = sent[0]["type"]
        self.status = sent[0].get("status")
        self.headers = {name.decode(): value.decode() for name, value in sent[0].get("headers", ())}
        self.body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        self.read = read


def ask(
    path: str = "/",
    *,
    kind: str = "http",
    method: str = "GET",
    host: str = "127.0.0.1:8000",
    bodies: tuple[int, ...] = (0,),
    content: bytes = b"x",
    room: int = 10_000,
    **headers: str,
) -> Answer:
    address, _, query = path.partition("?")
    scope = {
        "type": kind,
        "path": address,
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    scope["headers"].append((b"host", host.encode()))  # type: ignore[attr-defined]
    if kind == "http":
        scope["method"] = method
    sent: list[Any] = []
    read = 0

    def pieces() -> Iterator[dict[str, Any]]:
        for place, size in enumerate(bodies):
            yield {"type": "http.request", "body": content * size, "more_body": place < len(bodies) - 1}

    rest = pieces()

    async def receive() -> dict[str, Any]:
        nonlocal read
        message = next(rest)
        read += len(message["body"])
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    limits = {"most_bytes": 1000, "room": lambda: room}
    guard = Guard(page, TOKEN, hosts={"localhost"}, cookie=COOKIE, scripts=["run()"], **limits)  # type: ignore[arg-type]
    asyncio.run(guard(scope, receive, send))
    return Answer(sent, read)


def test_every_answer_carries_the_headers() -> None:
    for answer in (ask(**KNOWN), ask(), ask(f"/?token={TOKEN}")):
        assert HEADERS.items() <= answer.headers.items()
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self' 'sha256-" in policy
        assert "http" not in policy


@pytest.mark.parametrize(
    "path", ["/", "/lib/shiny.js", "/assets/page.css", "/session/x/upload/y", "/%2e%2e/"]
)
@pytest.mark.parametrize(
    "headers", [{}, {"cookie": f"{COOKIE}=wrong"}, {"cookie": f"other={TOKEN}"}, {"cookie": "=;,"}]
)
def test_nothing_opens_without_the_token(path: str, headers: dict[str, str]) -> None:
    assert ask(path, **headers).status == 403
    assert ask(path + "?token=wrong", **headers).status == 403
    assert ask(path, kind="websocket", origin="http://127.0.0.1:8000", **headers).kind == "websocket.close"


def test_the_token_is_exchanged_for_a_cookie() -> None:
    answer = ask(f"/?token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == f"{COOKIE}={TOKEN}; Path=/; HttpOnly; SameSite=Lax"
    assert ask(**KNOWN).status == 200
    assert ask(method="POST", path=f"/?token={TOKEN}", origin="http://127.0.0.1:8000").status == 403


def test_a_token_in_the_body_opens_the_page_from_anywhere_and_nothing_else_does() -> None:
    given = f"token={TOKEN}".encode()
    answer = ask(ENTRANCE, method="POST", content=given, bodies=(1,), origin="null")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}={TOKEN};")
    for wrong in (b"", b"token=", b"token=wrong", given[:-1], b"x" * 5000 + b"&" + given):
        answer = ask(ENTRANCE, method="POST", content=wrong, bodies=(1,), origin="null")
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert ask(ENTRANCE, method="POST", content=given, bodies=(1,), host="evil.example").status == 403
    assert ask("/", method="POST", content=given, bodies=(1,)).status == 403
    assert ask(ENTRANCE, method="POST", bodies=(900,) * 100, origin="null").read < 3000


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "", "localhost.evil.example", "[::1"])
def test_another_name_is_refused_even_with_the_token(host: str) -> None:
    assert ask(host=host, **KNOWN).status == 403
    assert ask(f"/?token={TOKEN}", host=host).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "[::1]:8000", "192.168.0.7"])
def test_our_own_names_are_known(host: str) -> None:
    assert ask(host=host, **KNOWN).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9000", ""])
def test_another_site_cannot_use_the_cookie(origin: str) -> None:
    assert ask(kind="websocket", origin=origin, **KNOWN).kind == "websocket.close"
    assert ask(method="POST", origin=origin, **KNOWN).status == 403


def test_the_page_itself_may_connect() -> None:
    origin = "http://127.0.0.1:8000"
    assert ask(kind="websocket", origin=origin, **KNOWN).kind == "websocket.accept"
    assert ask(method="POST", origin=origin, bodies=(600, 400), **KNOWN).body == "1000"
    assert ask(kind="websocket", **KNOWN).kind == "websocket.close"  # every browser says where it comes from


def test_too_much_is_refused_by_what_it_says_and_by_what_it_is() -> None:
    origin = {"origin": "http://127.0.0.1:8000", **KNOWN}
    said = ask(method="POST", content_length="1001", bodies=(1001,), **origin)
    assert (said.status, "limit" in said.body) == (413, True)
    assert ask(method="POST", content_length="-1", **origin).status == 413
    kept = ask(method="POST", bodies=(600, 600), **origin)
    assert (kept.status, "limit" in kept.body) == (413, True)
    endless = ask(method="POST", bodies=(600,) * 100, **origin)
    assert endless.status == 413
    assert endless.read < 3000  # not even thrown away for ever


def test_nothing_is_stored_when_all_files_together_are_too_large() -> None:
    origin = {"origin": "http://127.0.0.1:8000", **KNOWN}
    assert ask(method="POST", content_length="500", bodies=(500,), room=500, **origin).status == 200
    told = ask(method="POST", content_length="500", bodies=(500,), room=499, **origin)
    assert (told.status, "End a session" in told.body) == (507, True)
    assert ask(method="POST", bodies=(10,), room=999, **origin).status == 507  # it did not say how much
    assert ask(room=0, **KNOWN).status == 200
