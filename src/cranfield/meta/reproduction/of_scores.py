"""Were scores reproduced? The same as for runs, where only scores by topic are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.reproduction.comparing import Notes, check_test, measured, same_roles
from cranfield.meta.reproduction.effects import one_system
from cranfield.meta.reproduction.result import ROLES, Reproduction
from cranfield.meta.work.options import Seed, check_options
from cranfield.scores import Scores
from cranfield.significance.prepare import as_scores


def reproduce_scores(
    original: Any,
    reproduced: Any,
    *,
    test: str = "t",
    bounds: tuple[float, float] | None = None,
    seed: Seed = 0,
) -> Reproduction:
    """Measure how well scores were reproduced on the same topics.

    Parameters
    ----------
    original, reproduced
        Scores of systems called `baseline` and `advanced`, or of one of them: :class:`Scores`, an
        evaluation, a mapping of measures to scores, a mapping of roles to the scores of each, or a
        data frame.
    test, seed
        As for :func:`cranfield.meta.reproduction.of_runs.reproduce`.
    bounds
        The lowest and the highest possible score, for nRMSE; by default what the measure declares.

    Returns
    -------
    Reproduction
        Without orders.

    Raises
    ------
    CranfieldError
        For different measures, or when no topic has scores on both sides.
    PolicyError
        For other systems, or an unknown test.

    Examples
    --------
    >>> first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    >>> again = {"baseline": [0.2, 0.3, 0.3], "advanced": [0.3, 0.5, 0.4]}
    >>> print(reproduce_scores(first, again))
    Reproduction of baseline and advanced: 3 topics, 1 measure
    p: Paired t-test, not corrected for many measures
    note: nRMSE needs a lowest and a highest score, and none are known
    note: ER has no limits: the original effect may be 0
    <BLANKLINE>
    measure  RMSE baseline  RMSE advanced  p baseline  p advanced      ER  ER low  ER high      DRI
                    0.0577         0.0816      0.4226      1.0000  1.3333    -inf      inf  -0.1667
    """
    check_options(reproduce_scores, locals())
    return _of_scores(original, reproduced, "reproduction", test, bounds, seed)


def replicate_scores(
    original: Any, replicated: Any, *, test: str = "welch", seed: Seed = 0
) -> Reproduction:
    """Measure how well scores were replicated on other topics.

    Parameters
    ----------
    original, replicated
        As for :func:`reproduce_scores`, with the same errors; topics of one name are not the same.
    test, seed
        As for :func:`cranfield.meta.reproduction.of_runs.replicate`.

    Returns
    -------
    Reproduction
        Without orders, RMSE and nRMSE.

    Examples
    --------
    >>> first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    >>> again = {"baseline": [0.1, 0.1, 0.4, 0.4], "advanced": [0.2, 0.2, 0.5, 0.7]}
    >>> replicate_scores(first, again).summary().select("ER", "DRI").rows()
    [(1.5, -0.2666...)]
    """
    check_options(replicate_scores, locals())
    return _of_scores(original, replicated, "replication", test, None, seed)


def _of_scores(
    original: Any,
    again: Any,
    kind: str,
    test: str,
    bounds: tuple[float, float] | None,
    seed: int,
) -> Reproduction:
    test = check_test(test, paired=kind == "reproduction")
    one, two = _by_measure(original, "original"), _by_measure(again, "other")
    if one.keys() != two.keys():
        odd = next(name for name in [*one, *two] if name not in one or name not in two)
        raise PolicyError(f"there are scores of {quoted(odd)} on one side only")
    roles = same_roles(
        *({role: 0 for s in side.values() for role in s.systems} for side in (one, two))
    )
    return measured(kind, one, two, roles, test, Notes(), bounds=bounds, seed=seed)


def _by_measure(given: Any, side: str) -> dict[str, Scores]:
    """Return scores of systems that are called by their roles, by measure."""
    if isinstance(given, Mapping) and given and all(isinstance(s, Scores) for s in given.values()):
        by_measure = _of_roles(given) if set(given) <= set(ROLES) else dict(given)
    else:
        scores = as_scores(given)
        by_measure = {scores.measure: scores}
    for scores in by_measure.values():
        for system in scores.systems:
            if system not in ROLES:
                raise PolicyError(
                    f"the {side} scores are of {quoted(system)}: call the systems"
                    f" {' and '.join(ROLES)}"
                )
        scores.flat("scores by shard cannot be taken")
    return by_measure


def _of_roles(given: Mapping[str, Scores]) -> dict[str, Scores]:
    """Put the scores of each role side by side."""
    first = next(iter(given.values()))
    for scores in given.values():
        if scores.measure != first.measure:
            raise PolicyError(
                f"roles have scores of {quoted(first.measure)} and of {quoted(scores.measure)}"
            )
    both = as_scores({role: one_system(scores) for role, scores in given.items()})
    return {
        first.measure: replace(first, values=both.values, topics=both.topics, systems=both.systems)
    }
