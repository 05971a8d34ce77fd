"""How many impressions interleaving takes to tell systems apart, beside A/B tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from os import PathLike
from typing import Annotated, Any

import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.base.streams import stream
from cranfield.base.words import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.policies import Compat
from cranfield.collection.judged.policies import policies as judging_policies
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure, parse_measures
from cranfield.meta.of_users.sensitivity import KIND, PAIR, Sensitivity, effects, summarised
from cranfield.meta.of_users.shown_lists import shown_lists
from cranfield.meta.of_users.simulation import AB, Simulated, Task, User, simulated
from cranfield.meta.work.options import (
    OneOf,
    Proportion,
    Repeats,
    Seed,
    Whole,
    check_options,
)
from cranfield.meta.work.parts import Progress, run_parts
from cranfield.online.interleaving.methods.catalogue import parse_interleaving
from cranfield.online.interleaving.simulated_users import PRESETS, STOP, simulated_user

METHODS = ("Balanced", "TeamDraft", "Probabilistic", "Optimised", "PairwisePreference")
"""Methods that are compared by default."""

USERS = ("perfect", "navigational", "informational")
"""Users by default."""

_COMMA = re.compile(r",(?![^(]*\))")


def interleaving_sensitivity(
    runs: Any,
    qrels: Any,
    measure: str | Measure = "nDCG@10",
    *,
    methods: str | Iterable[str] = METHODS,
    users: str | Iterable[str] | Mapping[str, User] = USERS,
    stop: Annotated[str, OneOf(STOP)] = "examined",
    pairs: Annotated[int, Whole(1)] = 50,
    impressions: Repeats = 1000,
    length: Annotated[int, Whole(1, 100)] = 10,
    power: Proportion = 0.8,
    alpha: Proportion = 0.05,
    rel: Annotated[int | None, Whole(1)] = None,
    seed: Seed = 0,
    compat: Compat | None = None,
    jobs: int = 1,
    backend: str | None = None,
    scheduler: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    **policies: Any,
) -> Sensitivity:
    """Simulate users of pairs of systems, and tell how many impressions find the better one.

    For each pair of systems, method and user the same number of impressions of each topic is shown.
    The share of wins, and that of ties, give the impressions that the sign test needs; for A/B
    tests the difference and the variance of clicks a page give those of a test of two means. Signs
    are compared with those of an offline measure of the same runs.

    Source: Radlinski, Kurup and Joachims (2008), and Chapelle, Joachims, Radlinski and Yue (2012),
    on users; Hofmann, Whiteson and de Rijke (2011) on simulated ones.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`.
    measure
        The offline measure.
    methods
        Methods of interleaving by their text forms, such as `TeamDraft` or `Probabilistic(tau=1)`.
        A text may hold several, with commas between them. A/B tests are always done.
    users
        Names of simulated users, as :func:`cranfield.online.simulated_user` knows them; or a
        mapping of names to whatever has `clicks(grades, uniforms)`, such as a trained click model.
    stop
        Where simulated users by name may stop: at any result `examined`, or only one `clicked`.
    pairs
        Pairs of systems; if there are more, so many are drawn at random.
    impressions
        Simulated impressions of each topic, for a pair, method and user.
    length
        Ranks that are shown. Rankings are cut there before they are interleaved.
    power, alpha
        Of the two-sided tests for which impressions are told.
    rel
        If given, users know two grades only: whether a document has this grade.
    seed
        Of all draws. A pair, topic and user have random numbers of their own.
    compat, policies
        Of judging, as for :func:`cranfield.judge`.
    jobs, backend, scheduler, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a method and a pair of systems.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For what does not exist or cannot be read; for users by name who do not know the grades.

    Notes
    -----
    Documents without a judgment, or with a grade below 0, count as not relevant for users. All
    impressions are independent: users who come again need more of them. The test counts signs of
    impressions, whatever a method calls its credit.

    Examples
    --------
    >>> runs = {"good": {"q": {"a": 3.0, "b": 2.0}}, "bad": {"q": {"b": 3.0, "c": 2.0}}}
    >>> found = interleaving_sensitivity(
    ...     runs, {"q": {"a": 1}}, "RR", methods="TeamDraft", users="perfect", impressions=100
    ... )
    >>> found.sensitivity["method", "median needed", "agreement"].rows()
    [('TeamDraft', 6.0, 1.0), ('A/B', 4.0, 1.0)]
    """
    check_options(interleaving_sensitivity, locals(), judge)
    wanted, *more = parse_measures(measure, compat=compat)
    if more:
        raise PolicyError("signs are compared with those of one measure")
    chosen = tuple(dict.fromkeys(str(parse_interleaving(one)) for one in _several(methods)))
    many, judgments = read_runs(runs), read_qrels(qrels).flat()
    known = judging_policies(compat, **policies)
    judged = judge(many, judgments, compat=compat, **policies)
    offline = score(judged, wanted, compat=compat)[str(wanted)]
    graded = _relevant(judgments, rel)
    every = _users(users, 1 + max(0, int(graded.grades.max(initial=0))), stop)
    shown = shown_lists(many, graded, judged.topics, int(length), known.ties)
    given = Simulated(shown, every, int(impressions), int(seed))
    couples = list(combinations(range(len(shown.systems)), 2))
    if not couples:
        raise PolicyError("interleaving needs two systems or more")
    notes = []
    if len(couples) > pairs:
        notes.append(f"{counted(int(pairs), 'pair')} drawn of {len(couples):,}")
        drawn = stream(int(seed), 0).permutation(len(couples))[:pairs]
        couples = [couples[k] for k in sorted(drawn.tolist())]
    rows = run_parts(
        simulated,
        given,
        dict(_tasks((*chosen, AB), couples)),
        about={
            "study": "interleaving",
            "users": {name: repr(one) for name, one in given.users.items()},
            "impressions": given.impressions,
            "length": int(length),
            "seed": given.seed,
            "lists": shown.fingerprint(),
        }
        if folder is not None
        else {},
        jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        folder=folder,
        progress=progress,
    )
    pages = given.impressions * len(shown.topics)
    sign = -1.0 if wanted.info.lower_is_better else 1.0
    overall = dict(zip(offline.systems, (sign * offline.overall()).tolist(), strict=True))
    first, second = (pl.col(name).replace_strict(overall) for name in PAIR)
    made = effects(rows, pages, float(power), float(alpha))
    found = made.select(
        *KIND, *PAIR, (first - second).alias("difference"), pl.exclude(*KIND, *PAIR)
    )
    # User by user, methods in the order in which they were given.
    found = pl.concat(found.filter(pl.col("user") == name) for name in given.users)
    return Sensitivity(
        measure=wanted.label,
        methods=(*chosen, AB),
        users=tuple(given.users),
        impressions=given.impressions,
        length=int(length),
        topics=len(shown.topics),
        power=float(power),
        alpha=float(alpha),
        seed=given.seed,
        sensitivity=summarised(found),
        pairs=found,
        notes=tuple(notes),
    )


def _several(given: str | Iterable[str]) -> Sequence[str]:
    """Read texts, or one with commas between them."""
    every = _COMMA.split(given) if isinstance(given, str) else list(given)
    if not every:
        raise PolicyError("no method or user was given")
    return [one.strip() if isinstance(one, str) else one for one in every]


def _users(
    users: str | Iterable[str] | Mapping[str, User], grades: int, stop: str
) -> dict[str, User]:
    if isinstance(users, Mapping):
        return dict(users)
    names = _several(users)
    least = min(PRESETS["perfect"])
    try:
        return {name: simulated_user(name, max(grades, least), stop) for name in names}
    except PolicyError as error:
        if all(name in PRESETS for name in names):
            raise PolicyError(
                f"simulated users know 2, 3 or 5 grades, and these judgments have {grades}: say"
                " which grade is relevant, such as rel=1, or choose other users"
            ) from error
        raise


def _relevant(qrels: Qrels, rel: int | None) -> Qrels:
    """Return judgments of two grades, if a lowest relevant one is said."""
    if rel is None:
        return qrels
    grades = (qrels.grades >= rel).astype(qrels.grades.dtype)
    return Qrels(qrels.topics, qrels.codes, qrels.docs, grades, origin=qrels.origin)


def _tasks(
    methods: Iterable[str], couples: Iterable[tuple[int, int]]
) -> Iterable[tuple[str, Task]]:
    """Yield the parts; a file is named by its method and pair, so that others can be added."""
    every = list(couples)
    for method in methods:
        name = re.sub("[^A-Za-z0-9]+", "-", method).strip("-")[:60]
        name = f"{name}-{sha256(method.encode()).hexdigest()[:8]}"
        for first, second in every:
            yield f"{name}-{first:04d}-{second:04d}", (method, first, second)
