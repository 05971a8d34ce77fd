"""The answer in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.base.arrays import best_first
from cranfield.base.escape import plain
from cranfield.base.words import capitalised, counted
from cranfield.reporting import verdicts
from cranfield.reporting.page.contents import NO_QUALITY, Contents, Part
from cranfield.reporting.page.data import places
from cranfield.reporting.page.html import joined, label, named
from cranfield.reporting.shared_lines import shared_lines
from cranfield.reporting.summary import lead, listed, test_sentence
from cranfield.scales.statements.meaningful import MEANINGFUL, Meaning
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.models.anova_table import shown_p


def facts(contents: Contents) -> list[tuple[str, str]]:
    """Return what was evaluated: a word and a number with what it counts, in order."""
    return [(f"{noun}s", f"{number:,}") for noun, number in _numbers(contents)]


def counts(contents: Contents) -> str:
    return ", ".join(counted(number, noun) for noun, number in _numbers(contents))


def _numbers(contents: Contents) -> list[tuple[str, int]]:
    found = [
        ("system", len(contents.systems)),
        ("topic", len(contents.topics)),
        ("measure", len(contents.parts)),
    ]
    if contents.evaluation is not None:
        found.insert(2, ("judgment", contents.evaluation.judged.judgments.topic.size))
    return found


def coverage_lines(contents: Contents) -> list[str]:
    if contents.evaluation is None:
        return ["These are scores from elsewhere: what is unjudged, missing or tied is not known."]
    rows = contents.evaluation.coverage.systems
    shares = [row.unjudged_10 / max(1, row.retrieved_10) for row in rows]
    worst = int(np.argmax(shares))
    base = contents.evaluation.judged.recall_base()
    lines = [
        f"Relevant documents by topic: {int(base.min())} to {int(base.max())}, on average"
        f" {float(base.mean()):.1f}."
    ]
    if max(shares) > 0:
        condensed = contents.evaluation.judged.policies.unjudged == "condensed"
        unjudged = "they are removed" if condensed else "they count as not relevant"
        most = f", most in {label(rows[worst].system)} ({shares[worst]:.1%})"
        lines.append(
            f"Of the documents in the top 10, {float(np.mean(shares)):.1%} are unjudged on average"
            f"{most if len(rows) > 1 else ''}; {unjudged}."
        )
    else:
        lines.append("All documents in the top 10 are judged.")
    tied = [row for row in rows if row.tied]
    if tied:
        most_tied = max(tied, key=lambda row: row.tied)
        of = f"{most_tied.tied:,} of {most_tied.retrieved:,}"
        lines.append(
            f"{counted(len(tied), 'system')} {'has' if len(tied) == 1 else 'have'} documents that"
            " share their score with another of the same topic, most"
            f" {label(most_tied.system)} ({of}); the policy"
            f" for ties is {contents.evaluation.judged.policies.ties}."
        )
    else:
        lines.append("No two documents of a ranking share their score.")
    return lines


def warnings_of(contents: Contents) -> list[str]:
    """Return what a reader should know before anything else."""
    parts = contents.parts
    notes = [] if contents.evaluation is None else contents.evaluation.notes()
    failed = [one for one in parts if one.refused and one.refused != NO_QUALITY]
    notes += [f"{label(one.name)} is not compared: {one.refused}" for one in failed]
    own, common = shared_lines({label(one.name): one.policy for one in parts if one.meaning})
    return [*notes, *common, *(f"{name}: {note}" for name, some in own.items() for note in some)]


def against(one: PairwiseComparison) -> str:
    """Head what is said of the first baseline; its name is there where it is not the only one."""
    if len(one.baselines) > 1:
        return joined("against ", named(one.baselines[0]))
    return "against the baseline"


def answer(part: Part) -> list[str]:
    """Return the answer by one measure: what was found, how sure that is, and what it means."""
    if part.meaning is None:
        return [f"{_best_of(part)} Systems are not compared: {part.refused}."]
    one = part.meaning.comparison
    policy = [f"{capitalised(note)}." for note in part.policy]
    return [lead(one, label(part.name)), test_sentence(one), *policy, *meant(part.meaning)]


def answers_of(contents: Contents) -> tuple[list[list[str]], list[str]]:
    """Return the answer by each measure, and lines that hold for all that were compared."""
    every = [answer(part) for part in contents.parts]
    compared = {
        part.name: lines[2:]
        for part, lines in zip(contents.parts, every, strict=True)
        if part.comparison is not None
    }
    own, common = shared_lines(compared)
    found = [
        [*lines[:2], *own[part.name]] if part.name in own else lines
        for part, lines in zip(contents.parts, every, strict=True)
    ]
    return found, [capitalised(line) for line in common]


def _best_of(part: Part) -> str:
    values = part.overall
    if np.isnan(values).all():
        return f"No system has a score on {label(part.name)}."
    order = best_first(values, part.scores.lower_is_better)
    names = [part.scores.systems[k] for k in order if values[k] == values[order[0]]]
    shown = f"{values[order[0]]:.{places(part)}f}"
    if len(part.scores.systems) == 1:
        return f"{label(names[0])} scores {shown} on {label(part.name)}."
    of = counted(len(values), "system")
    return f"Of {of}, the best on {label(part.name)}: {listed(names)} ({shown})."


def meant(said: Meaning) -> list[str]:
    """Say whether the comparison is meaningful, and what holds on any scale."""
    return [verdict_sentence(said), *(f"{capitalised(line)}." for line in said.lines()[1:])]


def verdict_sentence(said: Meaning) -> str:
    """Say whether the comparison is meaningful, and why."""
    word, _, reason = said.first_line.partition(": ")
    if said.verdict == MEANINGFUL:
        return f"This is meaningful: {reason}."
    if word == "unknown":
        return f"Whether this is meaningful is unknown: {reason}."
    return f"This is not invariant under changes of the scale: {reason}."


def method(one: PairwiseComparison) -> list[str]:
    """Say what was done, as the heading of a comparison does, without its notes."""
    lines = one.facts()
    lines[0] = lines[0].removeprefix(f"{plain(one.measure)}: ")
    return [f"{capitalised(line)}." for line in lines]


def row_of(part: Part) -> list[str]:
    """Return the answer as cells of a table: best, its mean, top group, pairs, order kept."""
    one = part.comparison
    if one is None or part.meaning is None:
        return ["", "", "not compared", ""]
    best = int(one.order[0])
    more = int((one.means == one.means[best]).sum()) - 1
    named = label(one.systems[best]) + (f" and {more:,} more" if more else "")
    pairs = f"{one.count():,} of {len(one):,}"
    holds = f"{part.meaning.holds:,} of {one.count():,}" if one.count() else "–"
    if one.baselines:
        words = verdicts.against(one)
        top = ", ".join(f"{words.count(word)} {word}" for word in ("better", "worse"))
    elif one.alternative == "two-sided":
        top = f"{len(one.top_group):,} of {len(one.systems):,}"
    else:
        top = ""
    return [named, top, pairs, holds]


def _better(part: Part) -> str:
    return row_of(part)[0] or "not compared"


def _differ(part: Part) -> str:
    one = part.comparison
    return (
        ""
        if one is None
        else f"{'yes' if one.count() else 'no'}, p = {shown_p(one.adjusted_pvalues[0])}"
    )


def _stays(part: Part) -> str:
    if part.meaning is None:
        return ""
    return "yes" if part.meaning.dominance.holds[0] else "no"


OF_TWO: dict[str, Callable[[Any], object]] = {
    "best": _better,
    "differ": _differ,
    "order of means holds on any scale": _stays,
}
"""Columns of the answer on two systems."""
