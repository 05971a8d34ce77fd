"""Anonymous releases of campaigns: no run has its own tag, whatever its lines look like."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

import cranfield as cf
from cranfield import campaign
from tests.campaign.publishing.making import hits

RULES = """\
[campaign]
id = "news"
title = "News"
[tasks.adhoc]
missing_topics = "allow"
measures = ["AP"]
format = "{}"
"""
LINES = [("1", "d1", "1", "9.50"), ("1", "d2", "2", "8"), ("2", "d1", "1", "1e-3")]


@pytest.mark.parametrize(
    ("form", "separator", "q0", "tag", "end"),
    [
        ("trec", " ", "Q0", "canary", "\r"),
        ("trec", "\t", "Q0", "canary padua", "\n"),
        ("trec", "\t", "Q padua", "canary", "\r\n"),
        ("ntcir", ";", "padua", "canary", "\n"),
    ],
)
def test_no_tag_is_published(
    tmp_path: Path, form: str, separator: str, q0: str, tag: str, end: str
) -> None:
    (tmp_path / "rules.toml").write_text(RULES.format(form))
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d1 1\n")
    rows = [(topic, q0, doc, rank, score, tag) for topic, doc, rank, score in LINES]
    text = "".join(separator.join(row) + end for row in rows)
    (tmp_path / "a.run").write_bytes(text.encode())
    campaign.create(tmp_path / "news", tmp_path / "rules.toml")
    opened = campaign.open(tmp_path / "news")
    opened.add_team("padua")
    assert opened.submit(tmp_path / "a.run", team="padua").report.is_accepted
    opened.add_judgments(tmp_path / "qrels", version="1")
    data = opened.release(anonymous=True, date="2026-01-01").path / "data"
    between = ";" if form == "ntcir" else " "
    wanted = "".join(
        between.join((topic, "Q0", doc, rank, score, "team01-1")) + "\n"
        for topic, doc, rank, score in LINES
    )
    released = data / "runs" / "team01-1.run.xz"
    assert lzma.decompress(released.read_bytes()).decode() == wanted
    assert hits(data, "canary", "padua") == []
    a, b = (cf.read_run(path, format=form) for path in (tmp_path / "a.run", released))
    assert a.to_polars().equals(b.to_polars())
