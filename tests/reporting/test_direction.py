"""Outputs of negated scores of which lower is better are those of the scores, mirrored."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.reporting import comparison_formats as formats
from cranfield.reporting.tables import tabulate_evaluation
from cranfield.reporting.terminal import tabulate_systems
from cranfield.scales.statements import Meaningfulness, meaningfulness

FAST: dict[str, Any] = {"resamples": 199}

NUMBER = re.compile(r"(?<![A-Za-z])[-+−]?\d[\d,]*(\.\d+)?(e-?\d+)?%?")
BARS = re.compile("[─●│┼◂▸]+")
DIRECTION = (
    re.compile("(note:|%) lower scores of .*"),
    re.compile("(% )?[Ll]ower is better: [a-z, ]+[.]?"),
    re.compile(r"[$]-[$]"),
    re.compile("Lower scores of [a-z]+ are better. "),
    re.compile("; lower is better"),
    # Transformations x^p are no mirror images, and examples name the good side of a threshold.
    re.compile("(meaningfulness: )?(sensitivity:|for example:).*"),
)


def drawn(seed: int, measure: str = "gain") -> cf.Scores:
    random = np.random.default_rng(seed)
    values = random.normal(size=(25, 1)) + np.array([0.3, 0.0, 0.1, 1.0, 0.9])
    values = np.round(values + random.normal(size=(25, 5)) * 0.4, 2)
    return cf.Scores(values, tuple(map(str, range(25))), tuple("abcde"), measure)


def mirrored(scores: cf.Scores) -> cf.Scores:
    return replace(scores, values=-scores.values, lower_is_better=True)


def words(text: str) -> list[str]:
    """The lines of a text without numbers, bars, and what is said of the direction."""
    text = text.replace("highest", "extreme").replace("lowest", "extreme")
    for pattern in DIRECTION:
        text = pattern.sub("", text)
    text = NUMBER.sub("#", BARS.sub("", text))
    lines = [re.sub(r"[ .]+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def compared(scores: Mapping[str, cf.Scores], **options: Any) -> dict[str, Meaningfulness]:
    return {
        name: meaningfulness(cf.compare(one, **options, **FAST)) for name, one in scores.items()
    }


def text_of(scores: Mapping[str, cf.Scores], **options: Any) -> str:
    margin = options.pop("margin", None)
    return formats.format_comparisons(compared(scores, **options), margin)


TEXTS: dict[str, Callable[[Mapping[str, cf.Scores]], str]] = {
    "groups": text_of,
    "baseline": lambda scores: text_of(scores, baseline="b"),
    "margin": lambda scores: text_of(scores, baseline="b", margin="0.3"),
    "percentage": lambda scores: text_of(scores, margin="30%"),
    "friedman": lambda scores: text_of(scores, test="friedman"),
    "csv": lambda scores: formats.format_comparisons_csv(compared(scores)).replace("true", "false"),
    "letters": lambda scores: str(formats.tabulate_marks(compared(scores), "groups")),
    "symbols": lambda scores: str(
        formats.tabulate_marks(compared(scores, baseline="c"), "symbols")
    ),
    "latex": lambda scores: cf.compare(scores["gain"], **FAST).to_latex(),
    "prose": lambda scores: cf.compare(scores["gain"], **FAST).prose(),
    "prose, baseline": lambda scores: cf.compare(scores["gain"], baseline="b", **FAST).prose(),
    "prose, joint": lambda scores: cf.significance.compare_measures(scores, **FAST).prose(),
    "joint": lambda scores: str(cf.significance.compare_measures(scores, **FAST)),
    "ranks": lambda scores: str(cf.significance.rank_sets(scores["gain"], **FAST)),
    "means": lambda scores: str(tabulate_systems(scores)),
    "table": lambda scores: tabulate_evaluation(scores, sort="gain").to_latex(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    scores = {"gain": drawn(1), "more": drawn(2, "more")}
    turned = {key: mirrored(one) for key, one in scores.items()}
    one, other = words(TEXTS[name](scores)), words(TEXTS[name](turned))
    assert one == other
    assert one


def test_best_first_and_bold() -> None:
    """Two measures of different directions in one table: each has its own best value."""
    quality = cf.Scores(np.array([[0.2, 0.6], [0.4, 0.6]]), ("1", "2"), ("fast", "slow"), "AP")
    seconds = cf.Scores(np.array([[1.0, 3.0], [1.0, 5.0]]), ("1", "2"), ("fast", "slow"), "s")
    scores = {"AP": quality, "s": seconds.with_direction(lower_is_better=True)}
    made = tabulate_evaluation(scores, sort="s")
    assert [str(row[0]) for row in made.rows] == ["fast", "slow"]
    assert r"fast & 0.3000 & \textbf{1.0000}" in made.to_latex()
    assert r"slow & \textbf{0.6000} & 4.0000" in made.to_latex()
    assert tabulate_evaluation(scores, sort="AP").rows[0][0] == "slow"


def domain(chart: Any, channel: str) -> Any:
    content = chart.to_dict()
    layer = content if "encoding" in content else content["layer"][0]
    return layer["encoding"][channel]["scale"]["domain"]


def test_charts_have_the_best_first() -> None:
    one, other = drawn(3), mirrored(drawn(3))
    best_first = [one.systems[k] for k in np.argsort(-one.mean())]
    for scores in (one, other):
        assert domain(scores.plot.difficulty(), "y") == best_first
    topics = [domain(scores.plot.difficulty(), "x") for scores in (one, other)]
    assert topics[0] == topics[1]
    bars = [domain(scores.plot.differences(first="a", second="d"), "x") for scores in (one, other)]
    kinds = [
        domain(scores.plot.differences(first="a", second="d"), "color") for scores in (one, other)
    ]
    assert bars[0] == bars[1]
    assert kinds[0] == kinds[1]
    for name in ("box", "intervals", "score_scatter", "difficulty", "differences"):
        source = cf.compare(other, **FAST) if name == "intervals" else other
        pair = {"first": "a", "second": "d"} if name in {"differences", "score_scatter"} else {}
        assert "(lower is better)" in str(getattr(source.plot, name)(**pair).to_dict())


def test_report(tmp_path: Path) -> None:
    """The sections of the page: systems in the same order, the same sentences and tables."""
    found = []
    for scores in (drawn(4), mirrored(drawn(4))):
        page = cf.report(scores, tmp_path / "r.html", **FAST).read_text()
        page = re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.DOTALL)
        text = re.sub(r"<[^>]*>", "\n", re.sub(r"<meta.*?>", "", page))
        text = text.replace(" (lower is better)", "").replace("lower is better", "higher is better")
        text = re.sub(r"(Lower scores of gain are better|For example).*", "", text)
        # Above the note of the direction.
        text = re.sub(r"(?m)^Notes$", "", text)
        found.append(words(text))
    assert found[0] == found[1]
    assert "gain" in " ".join(found[0])


def test_json_says_the_direction() -> None:
    found = formats.format_comparisons_json(compared({"gain": mirrored(drawn(5))}))
    assert '"lower is better": true' in found
