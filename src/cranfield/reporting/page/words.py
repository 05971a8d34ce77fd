"""The answer in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.arrays import best_first
from cranfield.base.escape import plain
from cranfield.base.words import capitalised, counted
from cranfield.reporting import verdicts
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.data import places
from cranfield.reporting.page.html import joined, label, named
from cranfield.scales.statements.meaningful import MEANINGFUL, Meaning
from cranfield.significance.comparison.result import PairwiseComparison

NAMED = 3
"""Systems that are named one by one."""


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
    notes = [] if contents.evaluation is None else contents.evaluation.coverage.notes()
    notes += [f"{label(one.name)} is not compared: {one.refused}" for one in parts if one.refused]
    return notes + [f"{label(one.name)}: {note}" for one in parts for note in one.policy]


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
    first = _baseline_sentence(part, one) if one.baselines else _top_sentence(part, one)
    policy = [f"{capitalised(note)}." for note in part.policy]
    return [first, _test_sentence(one), *policy, *meant(part.meaning)]


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
    return f"Of {of}, the best on {label(part.name)}: {_list(names)} ({shown})."


def _list(names: Sequence[str]) -> str:
    shown = [label(name) for name in names[:NAMED]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _mean(part: Part, one: PairwiseComparison, k: int) -> str:
    if one.mean_of == "mean":
        return f"{one.means[k]:.{places(part)}f}"
    return f"{one.mean_of} {one.means[k]:.2f}"


def _top_sentence(part: Part, one: PairwiseComparison) -> str:
    name, number = label(part.name), counted(len(one.systems), "system")
    best = int(one.order[0])
    equal = [one.systems[k] for k in one.order if one.means[k] == one.means[best]]
    shown = f"best: {_list(equal)}, {_mean(part, one, best)}"
    if one.alternative != "two-sided":
        verb = "is" if len(equal) == 1 else "are"
        return f"Of {number}, the best on {name} {verb} {_list(equal)} ({_mean(part, one, best)})."
    if len(one.systems) == 2:
        better, worse = (label(one.systems[k]) for k in one.order)
        at, other = (_mean(part, one, int(k)) for k in one.order)
        if one.count() and len(equal) > 1:
            return f"On {name} {better} and {worse} differ, with equal means (both {at})."
        if one.count():
            return f"On {name} {better} ({at}) is better than {worse} ({other})."
        return f"On {name} {better} and {worse} are not found to differ."
    top = one.top_group
    if len(top) == 1:
        return f"Of {number}, one stands alone at the top on {name} ({shown})."
    if len(top) == len(one.systems):
        return f"None of the {number} is separated from the best on {name} ({shown})."
    return f"Of {number}, {len(top):,} share the top group on {name} ({shown})."


_NEITHER = {
    verdicts.DIFFERENT: "{} different with an equal mean",
    verdicts.SAME: "{} not found to differ from it",
}


def _baseline_sentence(part: Part, one: PairwiseComparison) -> str:
    sentences = []
    for baseline in one.baselines:
        words = verdicts.against(one, baseline)
        better, worse = map(words.count, (verdicts.BETTER, verdicts.WORSE))
        others = [
            f"{number:,} {said.format(_is(number))}"
            for verdict, said in _NEITHER.items()
            if (number := words.count(verdict))
        ]
        at = _mean(part, one, one.systems.index(baseline))
        sentences.append(
            f"Compared with the baseline {label(baseline)} ({at}) on {label(part.name)},"
            f" {counted(better, 'system') if better else 'no system'} {_is(better or 1)} better"
            f"{',' if others else ' and'}"
            f" {f'{worse:,}' if worse else 'none'} {_is(worse or 1)} worse"
            f"{''.join(f', {one}' for one in others[:-1])}"
            f"{f', and {others[-1]}' if others else ''}."
        )
    return " ".join(sentences)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _test_sentence(one: PairwiseComparison) -> str:
    found, every = one.count(), len(one)
    side = "" if one.alternative == "two-sided" else f", one-sided ({one.alternative})"
    if every == 1:
        verdict = "finds a difference" if found else "finds no difference"
        return f"{one.title}{side} {verdict} between them (alpha {one.alpha:g})."
    return (
        f"{one.title}{side} finds {found:,} of {counted(every, 'pair')} different"
        f" (alpha {one.alpha:g})."
    )


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
