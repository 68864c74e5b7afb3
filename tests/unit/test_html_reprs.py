"""What notebooks show of a schema, a release and an audit: small tables, with everything escaped."""

from __future__ import annotations

import polars as pl

from shoal import KAnonymity, Schema, anonymize, audit


def test_schema_release_and_audit_show_themselves_in_notebooks() -> None:
    frame = pl.DataFrame({"<b>age": [1, 1, 2, 2], "ill": ["x", "y", "x", "y"], "id": list("abcd")})
    schema = Schema.infer(frame, quasi=["<b>age"], sensitive=["ill"], drop=["id"])
    release = anonymize(frame, schema, KAnonymity(k=2))
    found = audit(frame, release.table, schema, KAnonymity(k=2))
    for shown in (schema, release, found):
        html = shown._repr_html_()
        assert "<b>" not in html
        assert html.count("<table>") == html.count("</table>") >= 1
    assert "&lt;b&gt;age" in schema._repr_html_()
    assert "numeric" in schema._repr_html_()
    assert release.audit.verdict in release._repr_html_()
    assert found.verdict in found._repr_html_()
    for name, fact in found.facts():
        assert name in found._repr_html_()
        assert fact in found._repr_html_()
