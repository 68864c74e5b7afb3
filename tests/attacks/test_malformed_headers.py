"""An attacker sends requests with headers that no browser writes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shoal.web.guard import Guard
from shoal.web.messages import Conversation

TOKEN, COOKIE, HOST = "secret-token", "shoal-8000", "127.0.0.1:8000"
KNOWN = f"{COOKIE}={TOKEN}"


def ask(
    kind: str, headers: list[tuple[str, str]], *texts: Any, query: str = ""
) -> tuple[list[Any], list[Any]]:
    """Return what was answered, and what came through to the page."""
    sent: list[Any] = []
    reached: list[Any] = []
    incoming = iter(
        [{"type": "websocket.receive", **text} for text in texts]
        + [{"type": "websocket.disconnect", "code": 1000}]
        if kind == "websocket"
        else [{"type": "http.request", "body": b""}]
    )

    async def page(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        while (message := await receive())["type"] != "websocket.disconnect":
            reached.append(message["text"])

    async def receive() -> Any:
        return next(incoming)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/", "query_string": query.encode("latin-1"), "method": "POST"}
    scope["headers"] = [(name.encode(), value.encode("latin-1")) for name, value in headers]  # type: ignore[assignment]
    guard = Guard(page, TOKEN, hosts={"localhost"}, most_bytes=1000, cookie=COOKIE, messages=Conversation)
    asyncio.run(guard(scope, receive, send))
    return sent, reached


ODD = [
    "http://[",
    "http://]",
    "http://[::1",
    "[",
    "http://",
    "://",
    "http://127.0.0.1:8000:1",
    "\xff",
    "http://\u00a0",
]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    [*ODD, f"ftp://{HOST}", f"//{HOST}", f"javascript://{HOST}", f"http://x@{HOST}", f"http://{HOST}, x"],
)
def test_odd_origins_are_refused(kind: str, origin: str) -> None:
    sent, reached = ask(kind, [("host", HOST), ("cookie", KNOWN), ("origin", origin)])
    assert reached == []
    assert sent[0].get("status") == 403 or sent[0]["type"] == "websocket.close"


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host",
    ["[", "[::1", "]", "", ":", "127.0.0.1/x", "evil@127.0.0.1", "127.0.0.1#x", "127.0.0.1?x", "\xff", "a b"],
)
def test_odd_hosts_are_refused(kind: str, host: str) -> None:
    origin = ("origin", f"http://{host}")
    assert ask(kind, [("host", host), ("cookie", KNOWN), origin])[1] == []
    assert ask(kind, [("cookie", KNOWN), origin])[1] == []  # no host at all


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        ";",
        "=",
        ";;=;",
        COOKIE,
        f"{COOKIE}=",
        f"{COOKIE}=\xff",
        f"x{KNOWN}",
        f"{COOKIE}={TOKEN}x",
        '"' * 99,
    ],
)
def test_odd_cookies_open_nothing(cookie: str) -> None:
    assert ask("websocket", [("host", HOST), ("origin", f"http://{HOST}"), ("cookie", cookie)])[1] == []


@pytest.mark.parametrize("other", ['a={"b": "c"}', "a]=1", "[]=;", "\xff=\xfe", "a=b=c", "path=/"])
def test_cookies_of_other_servers_do_not_lock_us_out(other: str) -> None:
    for cookie in (f"{other}; {KNOWN}", f"{KNOWN}; {other}"):
        headers = [("host", HOST), ("origin", f"http://{HOST}"), ("cookie", cookie)]
        assert ask("http", headers)[1] == ["http"]


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "", " 1", "\xb2"])
def test_odd_lengths_are_refused(length: str) -> None:
    headers = [("host", HOST), ("origin", f"http://{HOST}"), ("cookie", KNOWN), ("content-length", length)]
    sent, reached = ask("http", headers)
    assert (sent[0]["status"], reached) == (413, [])


def test_the_socket_closes_at_the_first_forged_message() -> None:
    headers = [("host", HOST), ("origin", f"http://{HOST}"), ("cookie", KNOWN)]
    first, good = '{"method": "init", "data": {}}', '{"method": "update", "data": {"k": "3"}}'
    forged = '{"method": "update", "data": {"upload": [{"datapath": "/etc/passwd"}]}}'
    sent, reached = ask(
        "websocket", headers, {"text": first}, {"text": good}, {"text": forged}, {"text": good}
    )
    assert reached == ["websocket", first, good]
    assert sent[-1] == {"type": "websocket.close", "code": 1008}
    assert ask("websocket", headers, {"bytes": good.encode()}, {"text": good})[1] == ["websocket"]
    unknown = '{"method": "update", "data": {"k": "3", "unknown": {"a": 1}}}'
    assert ask("websocket", headers, {"text": first}, {"text": unknown})[1] == ["websocket", first, good]
    # Nor may a client introduce itself twice, or not at all.
    assert ask("websocket", headers, {"text": first}, {"text": first})[1] == ["websocket", first]
    assert ask("websocket", headers, {"text": good})[1] == ["websocket"]
