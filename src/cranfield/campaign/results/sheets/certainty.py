"""What is sure of each run's place: groups that are not separated, and what the scale allows."""

from __future__ import annotations

from dataclasses import replace

from cranfield.base.arrays import places
from cranfield.base.words import capitalised
from cranfield.campaign.results.comparing import compared_if_possible
from cranfield.campaign.results.sheets.content import Certainty
from cranfield.reporting.page.words import verdict_sentence
from cranfield.reporting.verdicts import BETTER, WORSE, group_letters, verdicts_of
from cranfield.scales.statements.meaningful import MEANINGFUL, Meaning, meaning, order_kept
from cranfield.scores import Scores

NO_REASON = "the comparison is not possible"


def certainties(scores: Scores) -> tuple[Certainty, ...]:
    """Say of each run what is sure of it, by the default comparison of all pairs."""
    own = places(scores.overall(), scores.lower_is_better).tolist()
    bare = [Certainty(place, len(scores.systems)) for place in own]
    comparison = compared_if_possible(scores)
    if isinstance(comparison, str):
        return tuple(replace(one, refused=comparison) for one in bare)
    said = meaning(comparison)
    letters = group_letters(comparison) or [""] * len(bare)
    verdicts = verdicts_of(comparison)
    method = f"{comparison.title}, alpha {comparison.alpha:g}"
    order = comparison.order
    made = []
    for k, one in enumerate(bare):
        row = verdicts[k]
        others = order[order != k]
        alike = [int(j) for j in others if row[j] not in {BETTER, WORSE}]
        made.append(
            replace(
                one,
                letters=letters[k],
                method=method,
                # The row says what this run is: the others are the contrary.
                better=int((row == WORSE).sum()),
                worse=int((row == BETTER).sum()),
                alike=len(alike),
                names=tuple(scores.systems[j] for j in alike),
                verdict=_verdict(said, k),
            )
        )
    return tuple(made)


def nameless(one: Certainty) -> Certainty:
    """Leave out whatever names another run; why runs were not compared may do so too."""
    return replace(one, names=None, refused=NO_REASON if one.refused else "")


def _verdict(said: Meaning, k: int) -> tuple[str, ...]:
    """Say whether the statement is meaningful, and how many pairs with this run hold anyway."""
    first = verdict_sentence(said)
    one = said.comparison
    mine = ((one.first == k) | (one.second == k)) & one.is_significant()
    found = int(mine.sum())
    if said.verdict == MEANINGFUL or not found:
        return (first,)
    holds = int((mine & said.dominance.holds).sum())
    kept = order_kept(found, holds, "run that differs from it", "runs that differ from it")
    return (first, f"{capitalised(kept)}.")
