"""The page as a file: safe, closed to the network, the same for the same input, small enough."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.reporting.page.html import Html, escape
from tests.reporting.page.reading import read

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "a\u2028b\u202ec\x00",
    "",
    "x" * 3000,
    "{{data}} {{no}} &amp; \"'",
)


@pytest.fixture(scope="module")
def hostile() -> cf.Scores:
    values = np.random.default_rng(7).random((len(HOSTILE), len(HOSTILE)))
    return cf.Scores(values, HOSTILE, HOSTILE, measure="</style><b onclick=x>", settings={})


def digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def test_text_from_files_stays_text(tmp_path: Path, hostile: cf.Scores) -> None:
    path = tmp_path / "r.html"
    cf.report(hostile, path, title=HOSTILE[1], command=["cranfield", *HOSTILE[:3]], date=HOSTILE[0])
    found = read(path)
    kinds = {tag for tag, _ in found.elements}
    assert not kinds & {"img", "b", "iframe", "object", "base", "form"}
    known = (
        "html head meta title link style body a header h1 h2 h3 h4 p noscript nav ul li label"
        " select option main section div dl dt dd table caption thead tbody tr th td button span"
        " strong input output article details summary pre code footer script"
        " figure figcaption svg g line circle rect path text i sup"
    )
    assert kinds <= {*known.split()}
    assert len(found.all("script")) == 2
    for _, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    # The names are in the data as they are, and on the page as text.
    assert found.data["systems"] == list(HOSTILE)
    assert found.data["systemLabels"][3:5] == ["a\\u2028b\\u202ec\\x00", "(no name)"]
    assert HOSTILE[0] in found.shown
    assert "{{data}}" in found.shown
    assert "\u2028" not in found.html
    assert "\u202e" not in found.html


def test_policy(tmp_path: Path) -> None:
    scores = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6]}
    found = read(cf.report(scores, tmp_path / "r.html"))
    assert found.policy == (
        f"default-src 'none'; style-src '{digest(found.style)}';"
        f" script-src '{digest(found.scripts[1])}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    # The policy stands before what it is about.
    assert found.html.index("Content-Security-Policy") < found.html.index("<title>")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    scores = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6]}
    found = read(cf.report(scores, tmp_path / "r.html"))
    for _, attributes in found.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:"))
    assert not re.search(r"@import|url\(", found.style)
    code = found.scripts[1].replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|fetch|XMLHttp|WebSocket|import\(|eval|innerHTML|\.write\(", code)


def test_same_input_same_bytes(tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    pages = []
    for jobs in (1, 2):
        ev = cf.evaluate(covid.runs[:5], covid.qrels, ["nDCG@10", "RR@5"], jobs=jobs)
        path = tmp_path / f"{jobs}.html"
        cf.report(ev, path, jobs=jobs, test="randomisation", resamples=200)
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]
    assert not re.search(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}", pages[0])


def test_input_files_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "<q>.txt").write_bytes(b"judgments")
    scores = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6]}
    inputs = [str(tmp_path / "<q>.txt"), "-", "irds:vaswani"]
    found = read(cf.report(scores, tmp_path / "r.html", inputs=inputs, date="1 May"))
    assert hashlib.sha256(b"judgments").hexdigest() in found.shown
    assert "<q>.txt" in found.shown
    assert "standard input not a file irds:vaswani not a file" in found.shown
    assert "Date: 1 May" in found.shown
    assert str(tmp_path) not in found.html
    # A pipe was read before; to read it again gives no bytes, or waits for ever.
    descriptor, writer = os.pipe()
    os.close(writer)
    pipe = f"/dev/fd/{descriptor}"
    shown = read(cf.report(scores, tmp_path / "p.html", inputs=[pipe])).shown
    os.close(descriptor)
    assert f"{pipe} not a file" in shown


def test_landmarks_headings_and_names(tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@10", "RR"])
    found = read(cf.report(ev, tmp_path / "r.html"))
    for tag in ("header", "nav", "main", "footer", "h1", "noscript"):
        assert found.all(tag)
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
    assert len(found.all("table")) == found.html.count("<caption>")
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = {one["for"] for one in found.all("label")}
    controls = {one["id"] for one in (*found.all("select"), *found.all("input"))}
    assert controls == labelled
    for box in found.all("div"):
        if box.get("role") == "region":
            assert box["tabindex"] == "0"
            assert box["aria-label"]
    for link in found.all("a"):
        assert str(link["href"])[1:] in ids


def test_escaped_text() -> None:
    assert escape('a\x1b[2J<"&') == "a\\x1b[2J&lt;&quot;&amp;"
    assert escape(Html("<b>")) == "<b>"
