"""Making a pool from runs: the first ranks of each, put together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from cranfield.assess.pools.pool import Pool
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import InputError
from cranfield.collection.files.many_runs import distinct_names, read_runs
from cranfield.collection.judged.each_run import Progress, of_each
from cranfield.collection.judged.policies import DEEPEST, TIES
from cranfield.fusion.rankings import all_topics, among, top_of


def pool(
    runs: Any,
    depth: int,
    *,
    ties: str = "trec",
    contributors: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Put the first documents of the rankings of some runs together.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes. Runs are read one at a time, and only their
        first ranks are kept; or a pool, which is cut.
    depth
        Ranks of each ranking that count, from 1.
    ties
        Order of documents with equal scores, as for :func:`cranfield.judge`. Ranks are made from
        scores, whatever the rank column says.
    contributors
        Names of the systems whose runs make the pool; all by default.
    jobs, progress
        As for :func:`cranfield.judge`.

    Raises
    ------
    InputError
        When a run cannot be read, when there is none, and when two have the same name.
    PolicyError
        For a depth below 1 or above 1,000,000,000, unknown ties, and contributors that are not
        there.

    Notes
    -----
    Spärck Jones and van Rijsbergen (1975). Topics are all those that some run has, whether it
    contributes or not.

    Examples
    --------
    >>> pool({"a": {"1": {"d": 1.0}}, "b": {"1": {"d": 2.0, "e": 1.0}, "2": {"d": 1.0}}}, 100)
    Pool(2 topics, 2 systems, depth 100: 3 documents)
    """
    if isinstance(runs, Pool):
        made = runs.to_depth(depth)
        return made if contributors is None else made.of_systems(contributors)
    check_whole("depth", depth, 1, DEEPEST)
    check_choice("ties", ties, TIES)
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    top = partial(top_of, depth=depth, ties=ties)
    tops = list(of_each(many, top, progress, jobs=jobs))
    names = distinct_names([one.name for one in tops], [one.stem for one in tops])
    by_name = sorted(range(len(tops)), key=names.__getitem__)
    topics = all_topics(tops)
    ordered, text = among([tops[i] for i in by_name], topics)
    made = Pool.of(ordered, [names[i] for i in by_name], topics, int(depth), text)
    return made if contributors is None else made.of_systems(contributors)
