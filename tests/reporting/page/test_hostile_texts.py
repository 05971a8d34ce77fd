"""Two hundred hostile texts in all places of the page: shown; nothing runs, nothing is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.escape import plain
from studies.attack.reports import texts
from tests.reporting.page.opening import opened

TEXTS = texts(11)
TOGETHER = 25


def named(runs: list[str], topics: list[str], docs: list[str]) -> cf.Evaluation:
    """Evaluate runs, which differ, by names."""
    size = len(docs)
    found = {
        name: {
            topic: {docs[(k * (i + 1) + j) % size]: float(-j) for j in range(4)}
            for i, topic in enumerate(topics)
        }
        for k, name in enumerate(runs)
    }
    qrels = {topic: {docs[i % size]: 1, docs[-1 - i % size]: 0} for i, topic in enumerate(topics)}
    return cf.evaluate(found, qrels, ["AP", "P@2"])


def usable(some: list[str]) -> list[str]:
    """Leave out what may be no name at all, such as no text, and say so in one line."""
    kept = []
    for text in some:
        try:
            named([text, "b"], [text, "t", "u"], [text, *"vwxyz"])
        except cf.InputError as error:
            assert str(error).isprintable()
        else:
            kept.append(text)
    return kept


@pytest.mark.parametrize("first", range(0, len(TEXTS), TOGETHER))
def test_page_of_hostile_texts(browser: Any, tmp_path: Path, first: int) -> None:
    some = usable(TEXTS[first : first + TOGETHER])
    assert len(some) > TOGETHER / 2
    path = tmp_path / "report.html"
    cf.report(named(some, some, some), path, title=" ".join(some))
    one = opened(browser, path)
    one.page.on("dialog", lambda dialog: one.complaints.append(dialog.message))
    shown = one.page.locator("#systems tbody tr th").all_text_contents()
    # A browser puts blanks together.
    assert {" ".join(text.split()) for text in shown} == {
        " ".join(plain(text).split()) for text in some
    }
    one.page.mouse.move(300, 300)
    for button in one.page.get_by_role("button").all()[:3]:
        button.click()
    assert one.complaints == []
    assert [url for url in one.requests if not url.startswith("data:")] == [path.as_uri()]
    one.page.close()
