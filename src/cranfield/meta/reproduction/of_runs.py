"""Was an experiment reproduced? Runs or scores of both go in; closeness at each level comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.of_runs import evaluate
from cranfield.measures import Measure, parse_measures
from cranfield.meta.reproduction.comparing import Notes, check_test, measured, same_roles
from cranfield.meta.reproduction.orders import order_agreement
from cranfield.meta.reproduction.result import ROLES, Reproduction
from cranfield.meta.work.options import Proportion, Seed, check_options
from cranfield.scores import Scores


def reproduce(
    original: Any,
    reproduced: Any,
    *,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure] = ("AP", "nDCG@10", "P@10"),
    test: str = "t",
    p: Proportion = 0.9,
    seed: Seed = 0,
    **policies: Any,
) -> Reproduction:
    """Measure how well runs were reproduced on the same collection and topics.

    The levels are those of Breuer et al. (2020), from the strictest to the loosest: the order of
    documents, the scores by topic, and the effect of the advanced system over the baseline.

    Parameters
    ----------
    original, reproduced
        A mapping of `baseline` and `advanced` to runs, or a single run, which is then a baseline.
        A run is whatever :func:`cranfield.read_run` takes.
    qrels, measures
        Whatever :func:`cranfield.read_qrels` takes; measures or their text forms.
    test, seed
        A test of paired scores, such as `t`, `signed-rank` or `randomisation`; the seed of tests
        that need random numbers.
    p
        Persistence of rank-biased overlap, between 0 and 1.
    policies
        As for :func:`cranfield.evaluate`; `ties` and `depth` hold for the orders too.

    Returns
    -------
    Reproduction
        Scores are compared on the topics that both sides have scores for, effects on those that
        all runs have scores for, orders on the judged topics for which both runs have documents.

    Raises
    ------
    InputError
        For runs or judgments that cannot be read.
    MeasureError, PolicyError
        For roles, measures or options that do not exist.
    CranfieldError
        When no topic has scores on both sides.

    Notes
    -----
    A large p-value is no proof of a successful reproduction: with few topics no difference is
    significant. RMSE says how large the differences are.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> runs = {run.name: run for run in covid.runs}
    >>> first = {"baseline": runs["UIowaS_Run1"], "advanced": runs["UPrrf93-wt-r5"]}
    >>> again = {"baseline": runs["UIowaS_Run3"], "advanced": runs["UPrrf102-wt-r5"]}
    >>> print(reproduce(first, again, qrels=covid.qrels, measures=["P@10", "P@20"]))
    Reproduction of baseline and advanced: 50 topics, 2 measures
    baseline: 'UIowaS_Run1', again 'UIowaS_Run3'
    advanced: 'UPrrf93-wt-r5', again 'UPrrf102-wt-r5'
    p: Paired t-test, not corrected for many measures
    note: ties can change P@20 of 'reproduced baseline' by up to 0.006 (46% of its documents ...
    <BLANKLINE>
    measure  RMSE baseline  RMSE advanced  p baseline  p advanced      ER  ER low  ER high     DRI
    P@10            0.0245         0.0374      0.5690      0.7095  1.0000  0.8457   1.2232  0.0002
    P@20            0.0122         0.0505      0.5690      0.3320  0.8596  0.5119   1.1497  0.0098
    <BLANKLINE>
    role      topics     tau     KTU     RBO
    baseline      50  0.9613  0.3237  0.9618
    advanced      50  0.7766  0.0533  0.8448
    """
    check_options(reproduce, locals(), judge)
    if policies.get("depth") is not None:
        check_whole("depth", policies["depth"], 1)
    first, second = _runs(original, "original"), _runs(reproduced, "reproduced")
    roles = same_roles(first, second)
    test = check_test(test, paired=True)
    sides = {"original": first, "reproduced": second}
    named = {f"{side} {role}": run for side, runs in sides.items() for role, run in runs.items()}
    found = evaluate(named, qrels, measures, **policies)
    notes = Notes(found.notes())
    one, two = (_part(found, side, roles) for side in sides)
    chosen = found.judged.policies
    of_runs = {"systems": _names(first, second), "settings": chosen.describe()}
    study = measured("reproduction", one, two, roles, test, notes, seed=seed, **of_runs)
    parts = []
    for role in roles:
        part = order_agreement(
            first[role], second[role], p=p, depth=chosen.depth, ties=chosen.ties
        ).filter(pl.col("topic").is_in(found.topics))
        alone = int(part["RBO"].null_count())
        if alone:
            notes.add(f"{role}: {counted(alone, 'topic')} with documents in one run only")
        parts.append(part.select(pl.lit(role).alias("role"), pl.all()))
    return replace(study, orders=pl.concat(parts), persistence=float(p), notes=notes.lines())


def replicate(
    original: Any,
    replicated: Any,
    *,
    qrels: Any,
    other_qrels: Any,
    measures: str | Measure | Iterable[str | Measure] = ("AP", "nDCG@10", "P@10"),
    test: str = "welch",
    seed: Seed = 0,
    **policies: Any,
) -> Reproduction:
    """Measure how well an experiment was replicated on another collection.

    Topics have no counterpart there, so only the distributions of scores and the effects can be
    compared.

    Parameters
    ----------
    original, replicated
        As for :func:`reproduce`.
    qrels, other_qrels
        Judgments of the original collection and of the other.
    measures, seed, policies
        As for :func:`reproduce`, with the same errors.
    test
        A test of unpaired scores: `welch`, `t-unpaired`, `rank-sum` or `bootstrap-unpaired`.

    Returns
    -------
    Reproduction
        Without orders, RMSE and nRMSE.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> table = covid.qrels.to_polars()
    >>> early = table.filter(table["topic"].cast(int) <= 25)
    >>> late = table.filter(table["topic"].cast(int) > 25)
    >>> runs = {run.name: run for run in covid.runs}
    >>> runs = {"baseline": runs["UIowaS_Run1"], "advanced": runs["UPrrf93-wt-r5"]}
    >>> found = replicate(runs, runs, qrels=early, other_qrels=late, measures="P@10")
    >>> found.summary().select("ER", "DRI").rows()
    [(1.2222..., -0.0171...)]
    """
    check_options(replicate, locals(), judge)
    first, second = _runs(original, "original"), _runs(replicated, "replicated")
    roles = same_roles(first, second)
    test = check_test(test, paired=False)
    wanted = parse_measures(measures, compat=policies.get("compat"))
    one = evaluate(first, qrels, wanted, **policies)
    two = evaluate(second, other_qrels, wanted, **policies)
    notes = Notes(
        f"{side} collection: {note}"
        for side, found in (("original", one), ("other", two))
        for note in found.notes()
    )
    of_runs = {"systems": _names(first, second), "settings": one.judged.policies.describe()}
    return measured("replication", one, two, roles, test, notes, seed=seed, **of_runs)


def _runs(given: Any, side: str) -> dict[str, Run]:
    if isinstance(given, Mapping) and any(role in given for role in ROLES):
        odd = next((role for role in given if role not in ROLES), None)
        if odd is not None:
            raise PolicyError(f"the {side} run {quoted(odd)} is none of {', '.join(ROLES)}")
        return {role: read_run(given[role]) for role in ROLES if role in given}
    return {ROLES[0]: read_run(given)}


def _names(first: Mapping[str, Run], second: Mapping[str, Run]) -> dict[str, tuple[str, str]]:
    return {role: (first[role].name, second[role].name) for role in ROLES if role in first}


def _part(found: Evaluation, side: str, roles: tuple[str, ...]) -> dict[str, Scores]:
    """Return the scores of one side, its systems called by their roles."""
    names = [f"{side} {role}" for role in roles]
    return {
        name: replace(scores.select(systems=names), systems=roles) for name, scores in found.items()
    }
