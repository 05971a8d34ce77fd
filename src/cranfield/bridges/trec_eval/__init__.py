"""The output of trec_eval 10, byte for byte: its options, names, order of lines and formats."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError
from cranfield.base.escape import plain
from cranfield.bridges.trec_eval.asked import Printed, printed_lines
from cranfield.bridges.trec_eval.preferences import by_topic as preferences_by_topic
from cranfield.bridges.trec_eval.preferences import read_preferences
from cranfield.bridges.trec_eval.z_scores import as_z
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.judged.given import telling_order
from cranfield.evaluation.of_runs import evaluate
from cranfield.reporting.text.score_formats import RELSTRING, relevance_strings
from cranfield.sources.chunks import Source

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation

Form = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]


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
        groups, :data:`cranfield.bridges.trec_eval.preferences.COLUMNS`.
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
    printed = printed_lines(measures, form, rel)
    if form == "qrels":
        found = _of_qrels(qrels, run, printed, complete, depth, judged_only)
    else:
        found = _of_groups(qrels, run, printed, complete, depth, form)
    values = found.values
    if z_scores is not None:
        values = {name: as_z(of, name, found.topics, z_scores) for name, of in values.items()}
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

    printed: list[Printed]
    system: str
    topics: list[str]
    values: dict[str, Floats]
    strings: dict[str, list[str]]
    """What relstring shows of each topic, by the name that it is printed under."""


def _of_qrels(
    qrels: Any,
    run: Any,
    printed: list[Printed],
    complete: bool,
    depth: int | None,
    judged_only: bool,
) -> _Found:
    every = [one for line in printed for one in line.measures]
    with telling_order(run, qrels, "judgments come first, and then the run"):
        evaluation = evaluate(
            read_runs(run),
            # To trec_eval, a document in two iterations is judged twice.
            read_qrels(qrels, subtopics=False),
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
    printed: list[Printed],
    complete: bool,
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
    if form == "qrels_jg":
        values = _over_groups(judged, frame, printed, topics, depth)
    else:
        values = preferences_by_topic(judged, rankings, topics)
        values = {line.name: values[line.name] for line in printed if line.name in values}
    return _Found(printed, read.name, [plain(topic) for topic in topics], values, {})


def _over_groups(
    judged: pl.DataFrame,
    frame: pl.DataFrame,
    printed: list[Printed],
    topics: list[str],
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


def _line(line: Printed, topic: str, value: float, *, z: bool) -> str:
    count = line.overall in {"sum", "topics"} and not z
    shown = f"{value:.0f}" if count else f"{value:6.4f}"
    return f"{'Z' * z}{line.name:<22s}\t{topic}\t{shown}"


def _overall(line: Printed, values: Floats) -> float:
    if line.overall == "sum":
        return float(values.sum())
    mean = float(values.mean())
    return math.exp(mean) if line.overall == "geometric" else mean


def _strings(
    printed: list[Printed], evaluation: Evaluation, used: list[int]
) -> dict[str, list[str]]:
    """Return what relstring prints of the topics, by the name that it is printed under."""
    found = {}
    for line in printed:
        if line.name.startswith("relstring"):
            depth = int(line.name.partition("_")[2] or RELSTRING)
            rows = relevance_strings(evaluation.judged, depth)
            found[line.name] = [rows[t][0] for t in used]
    return found
