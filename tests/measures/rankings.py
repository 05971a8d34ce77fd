"""Judge and score small rankings that are lists of grades, with None for unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cranfield as cf


def judge_rankings(*rankings: Sequence[int | None]) -> cf.JudgedRuns:
    """Judge one system for each ranking; a document of grade 2 is retrieved by none."""
    runs = {
        f"s{s}": {"t": {f"{s} {i}": -float(i) for i in range(len(ranking))}}
        for s, ranking in enumerate(rankings)
    }
    grades = {
        f"{s} {i}": grade
        for s, ranking in enumerate(rankings)
        for i, grade in enumerate(ranking)
        if grade is not None
    }
    return cf.judge(runs, {"t": {**grades, "elsewhere": 2}})


def values(runs: cf.JudgedRuns, text: str) -> list[float]:
    """Score all systems on the first topic."""
    [scores] = cf.score(runs, text).values()
    return [float(value) for value in scores.values[0]]


def value(runs: cf.JudgedRuns, text: str) -> float:
    """Score the first system on the first topic."""
    return values(runs, text)[0]


def judge_texts(ranking: Sequence[tuple[int | None, int]]) -> cf.JudgedRuns:
    """Judge one ranking of texts, each with a grade and a length; grade 2 is not retrieved."""
    run = {"t": {f"d{i}": -float(i) for i in range(len(ranking))}}
    grades = {f"d{i}": grade for i, (grade, _) in enumerate(ranking) if grade is not None}
    lengths = {f"d{i}": length for i, (_, length) in enumerate(ranking)}
    return cf.judge(run, {"t": {**grades, "elsewhere": 2}}, lengths=lengths)


def score_ids(run: Sequence[str], grades: dict[str, int], *texts: str, **more: Any) -> list[float]:
    """Score one ranking of document ids."""
    scores = {"q": {doc: -float(i) for i, doc in enumerate(run)}}
    evaluation = cf.evaluate(scores, {"q": grades}, texts, **more)
    return [float(evaluation[text].values[0, 0]) for text in texts]


def score_grades(
    texts: Sequence[str], ranking: Sequence[int | None], missed: Sequence[int] = ()
) -> list[float]:
    """Score one ranking of grades; documents with the grades `missed` are not retrieved."""
    grades = {f"d{i:02}": grade for i, grade in enumerate(ranking) if grade is not None}
    grades |= {f"m{i}": grade for i, grade in enumerate(missed)}
    return score_ids([f"d{i:02}" for i in range(len(ranking))], grades, *texts)
