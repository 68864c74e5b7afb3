"""The web page without a browser: nothing is served without the token, and no path leads out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from visitor import Server


def test_no_route_opens_without_the_token(server: Server) -> None:
    status, page = server.ask("/")
    assert status == 200
    routes = ["/", "/websocket/", "/session/x/upload/y", "/assets/page.js", "/assets/", "/nowhere"]
    routes += re.findall(r'(?:src|href)="(lib/[^"]+)"', page)
    for route in routes:
        path = f"/{route.lstrip('/')}"
        for method in ("GET", "POST", "HEAD"):
            assert server.ask(path, method=method, token=False)[0] == 403, (method, path)
    assert server.ask("/assets/page.js")[0] == 200
    assert server.ask(f"/?token={server.token[:-1]}", token=False)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/lib/../../../../../../etc/passwd",
        "/lib/shiny-1/..%2f..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/session/../../etc/passwd",
    ],
)
def test_no_path_leads_out(server: Server, path: str) -> None:
    status, text = server.ask(path)
    assert status in (400, 403, 404)
    assert "root:" not in text
    assert "import" not in text


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys; find = u.find_spec;"
        "u.find_spec = lambda name, *more: None if name == 'shiny' else find(name, *more);"
        "sys.argv = ['shoal', 'ui']; from shoal.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'shoal-privacy[web]'" in done.stderr
