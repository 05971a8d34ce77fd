"""The output of trec_eval 10, byte for byte: its options, names, order of lines and formats."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, MeasureError, quoted
from cranfield.base.escape import plain
from cranfield.bridges.preferences import PREFERENCES, read_preferences
from cranfield.bridges.preferences import by_topic as preferences_by_topic
from cranfield.collection.files.reading import read_run
from cranfield.evaluation.of_runs import evaluate
from cranfield.measures.grammar import parse_measures
from cranfield.measures.trec_eval_names import FAMILIES, NICKNAMES, trec_name
from cranfield.reporting.text.score_formats import RELSTRING, relevance_strings
from cranfield.sources.chunks import Source

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.measures.base import Measure

ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref"),
    *("Rprec_mult", "utility", "11pt_avg", "binG", "G", "dcg", "ndcg", "ndcg_rel", "Rndcg"),
    *("ndcg_cut", "map_cut", "relative_P", "success", "set_P", "set_relative_P", "set_recall"),
    *("set_map", "set_F", "num_nonrel_judged_ret", *PREFERENCES, "map_avgjg", "P_avgjg"),
    *("Rprec_mult_avgjg", "rbp", "rbp_resid", "unj"),
)
"""Measures in the order of their lines, whatever the order in which they are asked for."""

_ALSO = {
    "all_trec": ("runid", "relstring", "rbp", "rbp_resid", "unj"),
    "official": ("runid",),
    "set": ("runid",),
}
"""What stands for a nickname besides its names in version 9."""

_OF_GROUPS = {
    "all_prefs": ("runid", "num_q", *PREFERENCES),
    "prefs": ("runid", "num_q", *PREFERENCES),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
"""Nicknames for measures of judgments by several groups."""

_WITHOUT = {
    **dict.fromkeys(PREFERENCES, "mean"),
    **dict.fromkeys(PREFERENCES[:3], "sum"),
    **{"num_q": "topics", "runid": "text", "relstring": "text"},
}
"""Names of what is no measure here, and what makes their lines of all."""

_IN_ALL = ("runid", "num_q")
"""What needs no judgments."""

Form = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]

_LOWEST = 1e-5
"""What stands for 0 in a geometric mean."""

_NO_Z = -1_000_000.0
"""The Z score of what the file of means has no line for."""


def _first(values: list[Floats]) -> Floats:
    return values[0]


@dataclass(frozen=True)
class _Printed:
    """A measure as it is printed."""

    name: str
    overall: str = "mean"
    """What makes the line of all: `mean`, `sum`, `geometric`, `topics`, or `text`."""
    measures: tuple[Measure, ...] = ()
    of: Callable[[list[Floats]], Floats] = _first
    """What makes the values by topic, of those of its measures."""


def trec_eval_lines(
    qrels: Any,
    run: Any,
    measures: Iterable[str] = ("official",),
    *,
    by_topic: bool = False,
    summary: bool = True,
    complete: bool = False,
    rel: int = 1,
    depth: int | None = None,
    judged_only: bool = False,
    form: Form = "qrels",
    z_scores: Mapping[tuple[str, str], tuple[float, float]] | None = None,
) -> Iterator[str]:
    """Yield the lines that trec_eval 10 prints.

    Parameters
    ----------
    qrels, run
        Whatever :func:`cranfield.read_qrels` and :func:`cranfield.read_run` take.
    measures
        Names as for its option -m: `map`, `P.5,10`, `official`.
    by_topic, summary
        Its options -q, and not -n.
    complete
        Average over all judged topics (-c).
    rel, depth, judged_only
        The lowest relevant grade (-l), the documents of a topic that count (-M), only judged
        documents (-J).
    form
        What the judgments are (-R): `qrels`; or a path to preferences or to judgments of several
        groups, :data:`cranfield.bridges.preferences.COLUMNS`.
    z_scores
        Mean and standard deviation by topic and name of measure (-Z).

    Yields
    ------
    str
        Lines without their ends.

    Raises
    ------
    MeasureError
        There is no such measure, or it has no such parameter.
    InputError
        A file cannot be read, or no topic has both judgments and results.

    Examples
    --------
    >>> qrels, run = {"1": {"d1": 1, "d2": 0}}, {"1": {"d1": 0.5, "d2": 1.0}}
    >>> print(*trec_eval_lines(qrels, run, ["recip_rank", "P.2"], by_topic=True), sep="\\n")
    recip_rank            	1	0.5000
    P_2                   	1	0.5000
    recip_rank            	all	0.5000
    P_2                   	all	0.5000
    """
    asked = _asked(measures)
    for one in asked:
        if one not in _IN_ALL and form not in _forms_of(one):
            raise MeasureError(f"{one} is computed from {_forms_of(one)[0]}, not from {form}")
    if form == "qrels":
        found = _of_qrels(qrels, run, asked, complete, rel, depth, judged_only)
    else:
        found = _of_groups(qrels, run, asked, complete, rel, depth, form)
    values = found.values
    if z_scores is not None:
        values = {name: _as_z(of, name, found.topics, z_scores) for name, of in values.items()}
    if by_topic:
        yield from _by_topic(found, values, z=z_scores is not None)
    for line in found.printed if summary else ():
        if line.name == "runid":
            yield f"{'runid':<22s}\tall\t{plain(found.system)}"
        elif line.overall == "topics":
            yield _line(line, "all", len(found.topics), z=z_scores is not None)
        elif line.overall != "text":
            yield _line(line, "all", _overall(line, values[line.name]), z=z_scores is not None)


@dataclass(frozen=True)
class _Found:
    """What there is to print."""

    printed: list[_Printed]
    system: str
    topics: list[str]
    values: dict[str, Floats]
    strings: dict[str, list[str]]
    """What relstring shows of each topic, by the name that it is printed under."""


def _of_qrels(
    qrels: Any,
    run: Any,
    asked: dict[str, list[str]],
    complete: bool,
    rel: int,
    depth: int | None,
    judged_only: bool,
) -> _Found:
    printed = [one for family, given in asked.items() for one in _made(family, given, rel)]
    every = [one for line in printed for one in line.measures]
    evaluation = evaluate(
        run,
        qrels,
        # Topics are matched even if nothing is asked for that needs them.
        every or "num_ret",
        compat="trec_eval-10",
        topics="qrels" if complete else "intersection",
        depth=depth,
        unjudged="condensed" if judged_only else "nonrelevant",
    )
    used = np.flatnonzero(evaluation.judged.scored[:, 0]).tolist()
    used.sort(key=lambda t: evaluation.topics[t].encode())
    topics = [plain(evaluation.topics[t]) for t in used]
    values = {
        line.name: line.of([evaluation[one].values[used, 0] for one in line.measures])
        for line in printed
        if line.measures
    }
    strings = _strings(printed, evaluation, used)
    return _Found(printed, evaluation.systems[0], topics, values, strings)


def _of_groups(
    path: Any,
    run: Any,
    asked: dict[str, list[str]],
    complete: bool,
    rel: int,
    depth: int | None,
    form: str,
) -> _Found:
    judged, read = read_preferences(path, form), read_run(run)
    # trec_eval breaks ties by the smaller id here, by the larger one everywhere else.
    order = ["topic", "score", "doc"]
    frame = read.to_polars().sort(order, descending=[False, True, False])
    rankings = {
        topic: docs[:depth] for topic, docs in frame.group_by("topic").agg("doc").iter_rows()
    }
    topics = [
        topic
        for topic in sorted(judged["topic"].unique().to_list(), key=str.encode)
        if complete or topic in rankings
    ]
    if not topics:
        raise InputError("no topic of the run is judged", source=Source(os.fspath(path)).name)
    printed = [one for family, given in asked.items() for one in _made(family, given, rel)]
    if form == "qrels_jg":
        values = _over_groups(judged, frame, printed, topics, rel, depth)
    else:
        values = preferences_by_topic(judged, rankings, topics)
        values = {line.name: values[line.name] for line in printed if line.name in values}
    return _Found(printed, read.name, [plain(topic) for topic in topics], values, {})


def _over_groups(
    judged: pl.DataFrame,
    frame: pl.DataFrame,
    printed: list[_Printed],
    topics: list[str],
    rel: int,
    depth: int | None,
) -> dict[str, Floats]:
    """Average scores over the groups that judged a topic."""
    names = [line.name for line in printed if line.measures]
    sums, groups = {name: np.zeros(len(topics)) for name in names}, np.zeros(len(topics))
    place = {topic: k for k, topic in enumerate(topics)}
    run = frame.select("topic", "doc", "score")
    for (_,), part in judged.partition_by("group", as_dict=True).items():
        grades = part.select("topic", "doc", pl.col("level").cast(pl.Int64).alias("grade"))
        evaluation = evaluate(
            run,
            grades,
            [one for line in printed for one in line.measures],
            compat="trec_eval-10",
            topics="qrels",
            depth=depth,
        )
        at = [k for k, topic in enumerate(evaluation.topics) if topic in place]
        to = [place[evaluation.topics[k]] for k in at]
        groups[to] += 1
        for line in printed:
            for one in line.measures:
                sums[line.name][to] += evaluation[one].values[at, 0]
    return {name: of / groups for name, of in sums.items()}


def _by_topic(found: _Found, values: dict[str, Floats], *, z: bool) -> Iterator[str]:
    for place, topic in enumerate(found.topics):
        for line in found.printed:
            if line.name in found.strings:
                yield f"{line.name:<22s}\t{topic}\t'{found.strings[line.name][place]}'"
            elif line.overall in {"mean", "sum"}:
                yield _line(line, topic, values[line.name][place], z=z)


def _line(line: _Printed, topic: str, value: float, *, z: bool) -> str:
    count = line.overall in {"sum", "topics"} and not z
    shown = f"{value:.0f}" if count else f"{value:6.4f}"
    return f"{'Z' * z}{line.name:<22s}\t{topic}\t{shown}"


def _overall(line: _Printed, values: Floats) -> float:
    if line.overall == "sum":
        return float(values.sum())
    mean = float(values.mean())
    return math.exp(mean) if line.overall == "geometric" else mean


def _as_z(
    values: Floats,
    name: str,
    topics: list[str],
    known: Mapping[tuple[str, str], tuple[float, float]],
) -> Floats:
    """Return how many standard deviations values are above the means of their topics."""
    pairs = [known.get((topic, name), (math.nan, math.nan)) for topic in topics]
    mean, deviation = np.array(pairs).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where((deviation == 0) & (values == mean), 0.0, (values - mean) / deviation)
    return np.where(np.isfinite(z), z, _NO_Z)


def _strings(
    printed: list[_Printed], evaluation: Evaluation, used: list[int]
) -> dict[str, list[str]]:
    """Return what relstring prints of the topics, by the name that it is printed under."""
    found = {}
    for line in printed:
        if line.name.startswith("relstring"):
            depth = int(line.name.partition("_")[2] or RELSTRING)
            rows = relevance_strings(evaluation.judged, depth)
            found[line.name] = [rows[t][0] for t in used]
    return found


def _asked(measures: Iterable[str]) -> dict[str, list[str]]:
    """Return the parameters by measure, in the order of lines; those of one name are joined."""
    found: dict[str, list[str]] = {}
    for text in measures:
        name, _, parameters = text.partition(".")
        nick = NICKNAMES.get(name) or _OF_GROUPS.get(name) or (name,)
        for one in (*nick, *_ALSO.get(name, ())):
            if one not in ORDER:
                raise MeasureError(f"illegal measure {quoted(text)}")
            found.setdefault(one, []).extend(filter(None, parameters.split(",")))
    return {name: found[name] for name in ORDER if name in found}


def _made(family: str, given: list[str], rel: int) -> Iterator[_Printed]:
    """Yield what is printed of a measure with these parameters."""
    name = f"{family}_{','.join(given)}" if given else family
    if family in _WITHOUT:
        yield _Printed(name, _WITHOUT[family])
    elif family.endswith("_avgjg"):
        plain_name = family.removesuffix("_avgjg")
        for line in _made(plain_name, given, rel):
            yield replace(line, name=family + line.name.removeprefix(plain_name))
    elif family in FAMILIES:
        whole = FAMILIES[family][1] is int
        at = sorted((str(_whole(one)) if whole else one for one in given), key=_number)
        for one in _read([f"{family}.{','.join(at)}" if at else family], rel):
            yield _Printed(trec_name(one, rel), "mean", (one,))
    elif family == "rbp_resid":
        text = f"RBPResidual(p={_persistence(given)}"
        parts = (f"{text})", f"{text}, part='unjudged')")
        # Where no document is unjudged, theirs has no tail either.
        yield _Printed(name, "mean", _read(parts, rel), lambda of: np.where(of[1] > 0, of[0], 0.0))
    elif family == "rbp":
        text = f"RBP(gains='graded', max_grade='topic', p={_persistence(given)})"
        yield _Printed(name, "mean", _read([text], rel))
    elif family == "11pt_avg" and given:
        levels = _read([f"iprec_at_recall.{','.join(given)}"], rel)
        yield _Printed(name, "mean", levels, lambda of: np.mean(of, axis=0))
    else:
        yield _of_one(name, f"{family}.{','.join(given)}" if given else family, rel)


def _of_one(name: str, text: str, rel: int) -> _Printed:
    (one,) = _read([text], rel)
    if one.info.aggregate == "geometric":
        return _Printed(name, "geometric", (one,), lambda of: np.log(np.maximum(of[0], _LOWEST)))
    return _Printed(name, one.info.aggregate, (one,))


def _forms_of(family: str) -> tuple[str, ...]:
    """Return the formats that a measure is computed from."""
    if family in PREFERENCES:
        return ("prefs", "qrels_prefs")
    return ("qrels_jg",) if family.endswith("_avgjg") else ("qrels",)


def _read(texts: Iterable[str], rel: int) -> tuple[Measure, ...]:
    return tuple(parse_measures(texts, compat="trec_eval-10", rel=rel))


def _whole(text: str) -> int:
    """Read a cutoff as C does: as far as it is a whole number."""
    found = re.match(r"\s*\+?(\d+)", text)
    if found is None:
        raise MeasureError(f"cutoff {quoted(text)} is no number")
    return int(found[1])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeasureError(f"cutoff {quoted(text)} is no number") from None


def _persistence(given: list[str]) -> float:
    if not given:
        return 0.9
    try:
        return float(given[-1].removeprefix("p="))
    except ValueError:
        raise MeasureError(f"persistence {quoted(given[-1])} is no number") from None


def read_z_scores(path: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """Read a file of means: topic, measure, mean and standard deviation a line.

    Raises
    ------
    InputError
        A line has not four columns, or no numbers in them; with its place.
    """
    source = Source(os.fspath(path))
    found = {}
    for line, text in enumerate(source.read().decode("utf-8", "replace").splitlines(), start=1):
        cells = text.split()
        try:
            topic, name, mean, deviation = cells
            found[topic, name] = float(mean), float(deviation)
        except ValueError:
            said = "does not hold a topic, a measure, a mean and a standard deviation"
            raise InputError(said, source=source.name, line=line) from None
    return found
