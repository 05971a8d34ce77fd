"""Scores in the formats of other programs, and as CSV and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.base.text import format_json, sanitise
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures.aliases import find_trec_name
from cranfield.measures.base import Measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import make_long_table, make_overall_table

RELSTRING_DEPTH = 10  # number of ranks in trec_eval's relstring


def format_trec(
    evaluation: Evaluation,
    *,
    by_topic: bool,
    has_runid: bool,
    has_relstring: bool = False,
    rel: int = 1,
) -> Iterator[str]:
    """Yield scores in trec_eval's output format (measure, topic, value), run by run.

    With `has_runid`, the name of the run is printed even if there is only one system.
    """
    names = {measure: find_trec_name(measure, rel) for measure in evaluation.measures}
    relstrings = format_relevance_strings(evaluation.judged) if has_relstring and by_topic else None
    order = sorted(range(len(evaluation.topics)), key=lambda t: evaluation.topics[t].encode())
    overall = [scores.overall() for scores in evaluation.values()]

    def format_line(measure: Measure, topic: str, value: float) -> str:
        is_count = measure.info.aggregate == "sum" and not math.isnan(value)
        return f"{names[measure]:<22s}\t{topic}\t{value:{'.0f' if is_count else '6.4f'}}"

    for system, run_name in enumerate(evaluation.systems):
        for t in order if by_topic else ():
            if not evaluation.judged.is_scored[t, system]:
                continue
            label = sanitise(evaluation.topics[t])
            for (measure, name), scores in zip(names.items(), evaluation.values(), strict=True):
                # trec_eval prints these measures only over all topics.
                if measure.info.aggregate == "geometric" or name == "num_q":
                    continue
                if name == "recall_5" and relstrings is not None:
                    yield f"{'relstring':<22s}\t{label}\t'{relstrings[t][system]}'"
                yield format_line(measure, label, float(scores.values[t, system]))
        if has_runid or len(evaluation.systems) > 1:
            yield f"{'runid':<22s}\tall\t{sanitise(run_name)}"
        for measure, means in zip(evaluation.measures, overall, strict=True):
            yield format_line(measure, "all", float(means[system]))


def format_relevance_strings(judged: JudgedRuns, depth: int = RELSTRING_DEPTH) -> list[list[str]]:
    """Format the top of each ranking like trec_eval's relstring, by topic and system.

    A digit is a grade, `>` a grade above 9, `.` a negative grade (unjudged), and `-` no judgment.
    """
    n_topics, n_systems = judged.shape
    characters = np.full((n_topics, n_systems, depth), "-", dtype="U1")
    rows = judged.documents.where(judged.documents.rank <= depth)
    symbols = np.array([*"0123456789", ">", "."])
    index = np.where(rows.grade < 0, 11, np.minimum(rows.grade, 10))
    characters[rows.topic, rows.cell // n_topics, rows.rank - 1] = symbols[index]
    lengths = np.minimum(judged.n_retrieved, depth)
    systems = range(n_systems)
    return [["".join(characters[t, s, : lengths[t, s]]) for s in systems] for t in range(n_topics)]


def format_ir_measures(evaluation: Evaluation, *, by_topic: bool, places: int) -> Iterator[str]:
    """Yield scores in the output format of ir_measures, run by run."""
    has_several = len(evaluation.systems) > 1
    overall = {measure: scores.overall() for measure, scores in evaluation.items()}
    for system, name in enumerate(evaluation.systems):
        prefix = f"{sanitise(name)}\t" if has_several else ""
        if by_topic:
            for t, topic in enumerate(evaluation.topics):
                for measure, scores in evaluation.items():
                    value = scores.values[t, system]
                    if not np.isnan(value):
                        yield f"{prefix}{sanitise(topic)}\t{measure}\t{value:.{places}f}"
        for measure, values in overall.items():
            # Without `all`, `system measure value` would be read as `topic measure value`.
            topic_column = "all\t" if by_topic or has_several else ""
            yield f"{prefix}{topic_column}{measure}\t{values[system]:.{places}f}"


def format_prototext(evaluation: Evaluation, *, places: int) -> Iterator[str]:
    """Yield the scores of a single system as an `evaluation.prototext` of TIRA."""
    if len(evaluation.systems) > 1:
        n_systems = len(evaluation.systems)
        raise PolicyError(
            f"expected the scores of one system for an evaluation.prototext, got {n_systems}"
        )
    for measure, scores in evaluation.items():
        key = json.dumps(str(measure), ensure_ascii=False)
        yield f'measure {{\n  key: {key}\n  value: "{scores.overall()[0]:.{places}f}"\n}}'


def format_scores_csv(scores: Mapping[str, Scores], *, by_topic: bool) -> str:
    """Format scores as CSV, with the columns of :func:`tabulate_scores`."""
    return tabulate_scores(scores, by_topic=by_topic).write_csv()


def tabulate_scores(scores: Mapping[str, Scores], *, by_topic: bool) -> pl.DataFrame:
    """Return scores by measure, topic and system in long form, or overall values by system."""
    return make_long_table(scores) if by_topic else make_overall_table(scores)


def format_scores_json(
    scores: Mapping[str, Scores],
    *,
    by_topic: bool,
    about: Mapping[str, object] | None = None,
    notes: Sequence[str] | None = None,
) -> str:
    """Format scores as JSON; `about` replaces the settings."""
    content = dict(about or {"settings": next(iter(scores.values())).settings})
    content |= convert_scores(scores, by_topic=by_topic)
    if notes is not None:
        content["notes"] = notes
    return format_json(content)


def convert_scores(scores: Mapping[str, Scores], *, by_topic: bool) -> dict[str, object]:
    """Return a dictionary for JSON of measures, overall values and, if `by_topic`, topic values."""
    first_scores = next(iter(scores.values()))
    overall = {m: s.overall() for m, s in scores.items()}
    systems = {}
    for i, name in enumerate(first_scores.systems):
        entry: dict[str, object] = {"overall": {m: values[i] for m, values in overall.items()}}
        if by_topic:
            entry["topics"] = {
                topic: {m: s.values[t, i] for m, s in scores.items()}
                for t, topic in enumerate(first_scores.topics)
            }
        systems[name] = entry
    lower_names = [m for m, s in scores.items() if s.lower_is_better]
    directions = {"lower is better": lower_names} if lower_names else {}
    n_topics = len(first_scores.topics)
    return {"measures": list(scores), **directions, "topics": n_topics, "systems": systems}
