"""Tests of a group share a browser, a Spark session or a server: they run in one worker, one by one."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_the_worker_knows_the_groups(request: pytest.FixtureRequest) -> None:
    """With some versions of pytest and pytest-xdist, groups are spread without a word."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("groups matter only if tests run in parallel by groups, as with make test")
    assert request.node.nodeid.endswith("@together")
