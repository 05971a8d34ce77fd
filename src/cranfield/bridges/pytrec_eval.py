"""Replacement for pytrec_eval with the same interface: only the import has to be changed.

    import cranfield.bridges.pytrec_eval as pytrec_eval

Values equal those of pytrec_eval to 1e-12, for each topic in both the run and the judgments. A
ranking without documents has the scores that trec_eval's option -c gives to a missing ranking; in
pytrec_eval its scores depend on the rankings before it.
Infinite scores and invalid parameters of measures raise errors of cranfield; for some invalid
parameters pytrec_eval ends the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.base.errors import InputError, MeasureError, quote
from cranfield.measures.aliases import CUTOFF_FORMS, NICKNAMES, SINGLE_MEASURES, find_trec_name
from cranfield.measures.grammar import parse_measures
from cranfield.scores.averages import FLOOR

if TYPE_CHECKING:
    from cranfield.collection.policies import Unjudged
    from cranfield.measures.base import Measure

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

_TEXT_MEASURES = {"runid", "relstring"}
"""Measures with text values in trec_eval; their value in pytrec_eval is 0."""

_NEW_MEASURES = {"rbp", "rbp_resid", "unj", "dcg"}
"""Measures of trec_eval 10 that pytrec_eval does not have."""

supported_measures: set[str] = ({*SINGLE_MEASURES, *CUTOFF_FORMS} - _NEW_MEASURES) | _TEXT_MEASURES
"""Names of the supported measures, without parameters."""

supported_nicknames: dict[str, set[str]] = {
    nickname: {*names, "runid", *(["relstring"] if nickname == "all_trec" else [])}
    for nickname, names in NICKNAMES.items()
}
"""Names of sets of measures, with the measures of each set."""

_MEASURE_ORDER = ["runid", *NICKNAMES["all_trec"]]
_MEASURE_ORDER.insert(_MEASURE_ORDER.index("P") + 1, "relstring")
"""Order of the measures in results, regardless of the order in which they are requested."""

_PARAMETERS = re.compile(r"[._]([0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*)")


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read the lines of a run in TREC format: topic, Q0, document, rank, score, tag.

    Parameters
    ----------
    f_run
        Lines, such as those of an open file.

    Returns
    -------
    dict
        Scores by topic and document.

    Raises
    ------
    InputError
        For a line without six columns, a score that is not a number, or a document that occurs
        twice in a topic.

    Examples
    --------
    >>> parse_run(["1 Q0 d1 1 2.5 mine", "1 Q0 d2 2 2.0 mine"])
    {'1': {'d1': 2.5, 'd2': 2.0}}
    """
    return _read_nested_values(f_run, n_columns=6, value_column=4, value_type=float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read the lines of judgments in TREC format: topic, iteration, document, grade.

    Parameters
    ----------
    f_qrel
        Lines, such as those of an open file.

    Returns
    -------
    dict
        Grades by topic and document.

    Raises
    ------
    InputError
        For a line without four columns, a grade that is not an integer, or a document that occurs
        twice in a topic.

    Examples
    --------
    >>> parse_qrel(["1 0 d1 1", "1 0 d2 0"])
    {'1': {'d1': 1, 'd2': 0}}
    """
    return _read_nested_values(f_qrel, n_columns=4, value_column=3, value_type=int)


def _read_nested_values(
    lines: Iterable[str], n_columns: int, value_column: int, value_type: Callable[[str], Any]
) -> dict[str, dict[str, Any]]:
    """Read values by topic (first column) and document (third column)."""
    values: dict[str, dict[str, Any]] = {}
    for line_number, line in enumerate(lines, start=1):
        make_error = partial(InputError, source="lines", line=line_number)
        cells = line.split()
        if len(cells) != n_columns:
            raise make_error(f"expected {n_columns} columns, got {len(cells)}")
        topic, doc, text = cells[0], cells[2], cells[value_column]
        topic_values = values.setdefault(topic, {})
        if doc in topic_values:
            raise make_error(f"document {quote(doc)} occurs twice in topic {quote(topic)}")
        try:
            topic_values[doc] = value_type(text)
        except ValueError:
            noun = "an integer" if value_type is int else "a number"
            raise make_error(f"expected {noun}, got {quote(text)}") from None
    return values


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Aggregate the values of topics as trec_eval does.

    Parameters
    ----------
    measure
        Name of the measure. The result is the sum of values for `num_...`, the exponential of
        their mean for `gm_...`, and their mean otherwise.
    values
        One value per topic.

    Returns
    -------
    float

    Examples
    --------
    >>> compute_aggregated_measure("map", [0.5, 1.0]), compute_aggregated_measure("num_ret", [2, 3])
    (0.75, 5.0)
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    mean = float(np.mean(values))
    return math.exp(mean) if measure.startswith("gm_") else mean


class RelevanceEvaluator:
    """Computes measures of runs for fixed judgments.

    Ties, grades below 0 and the rounding of scores and recall levels are those of trec_eval 9,
    which pytrec_eval uses: `compat="trec_eval-9"` of :func:`cranfield.evaluate`.

    Parameters
    ----------
    query_relevance
        Grades by topic and document. A topic without documents is excluded.
    measures
        Names of measures in trec_eval, with or without parameters (`ndcg_cut.5,10` or
        `ndcg_cut_10`), and nicknames (`official`).
    relevance_level
        Lowest relevant grade.
    judged_docs_only_flag
        Whether documents without a judgment are removed from rankings.

    Raises
    ------
    MeasureError
        For a measure that pytrec_eval does not have. It is also a ValueError.
    InputError
        For a grade that is not an integer.

    Examples
    --------
    >>> evaluator = RelevanceEvaluator({"1": {"d1": 1, "d2": 0}}, ["map", "ndcg_cut.5"])
    >>> evaluator.evaluate({"1": {"d1": 0.5, "d2": 1.0}, "2": {"d1": 1.0}})
    {'1': {'map': 0.5, 'ndcg_cut_5': 0.6309297535714575}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        from cranfield.collection.files.reading import read_qrels

        parsed_names = _parse_names(tuple(measures), relevance_level)
        self._constants, self._measures, self._order = parsed_names
        self._unjudged: Unjudged = "condensed" if judged_docs_only_flag else "nonrelevant"
        judgments = {topic: grades for topic, grades in query_relevance.items() if grades}
        self._topics = frozenset(judgments)
        # This topic, with a name longer than all others, is added to runs, which must not be empty.
        self._filler = "-" * (1 + max(map(len, judgments), default=0))
        self._qrels = read_qrels({**judgments, self._filler: {"filler": 0}})

    def evaluate(
        self, scores: Mapping[str, Mapping[str, float]] | None
    ) -> dict[str, dict[str, float]]:
        """Score a run.

        Parameters
        ----------
        scores
            Scores by topic and document.

        Returns
        -------
        dict
            Values by topic and measure, for the topics that are in both the run and the judgments,
            in the order of the run. :func:`compute_aggregated_measure` averages them.

        Raises
        ------
        InputError
            For a score that is not a finite number.

        Examples
        --------
        >>> RelevanceEvaluator({"1": {"d1": 1}}, ["recip_rank"]).evaluate({"1": {}})
        {'1': {'recip_rank': 0.0}}
        """
        from cranfield.evaluation.evaluate_runs import evaluate

        topics = [topic for topic in scores or () if topic in self._topics]
        if scores is None or not topics:
            return {}
        values_by_name: dict[str, list[float]] = {}
        if self._measures:
            # A topic without documents scores like a topic that is missing in the run.
            run = {topic: scores[topic] for topic in topics if scores[topic]}
            run[self._filler] = {"filler": 0.0}
            evaluation = evaluate(
                {"run": run},
                self._qrels,
                [*self._measures.values()],
                compat="trec_eval-9",
                topics="qrels",
                unjudged=self._unjudged,
            )
            row_by_topic = {topic: k for k, topic in enumerate(evaluation.topics)}
            rows = [row_by_topic[topic] for topic in topics]
            for name, measure in self._measures.items():
                values = evaluation[measure].values[rows, 0]
                if name.startswith("gm_"):
                    values = np.log(np.maximum(values, FLOOR))
                values_by_name[name] = values.tolist()
        for name, value in self._constants.items():
            values_by_name[name] = [value] * len(topics)
        return {
            topic: {name: values_by_name[name][k] for name in self._order}
            for k, topic in enumerate(topics)
        }


@lru_cache(maxsize=64)
def _parse_names(
    measures: tuple[str, ...], rel: int
) -> tuple[dict[str, float], dict[str, Measure], list[str]]:
    """Return constant values by name, measures by name, and all names in the order of results."""
    parameters_by_family: dict[str, set[str]] = {}
    for name in measures:
        for member in supported_nicknames.get(name, [name]):
            family, parameters = _split_name(member)
            parameters_by_family.setdefault(family, set()).update(parameters)
    constants = {name: 0.0 for name in parameters_by_family if name in _TEXT_MEASURES}
    if "num_q" in parameters_by_family:
        constants["num_q"] = 1.0
    texts = [
        f"{name}.{','.join(sorted(parameters, key=float))}" if parameters else name
        for name, parameters in parameters_by_family.items()
        if name not in constants
    ]
    definitions = parse_measures(texts, compat="trec_eval-9", rel=rel) if texts else []
    # pytrec_eval omits the parameter of `set_F`.
    names = [re.sub("^set_F_.*", "set_F", find_trec_name(measure, rel)) for measure in definitions]
    measure_by_name = dict(zip(names, definitions, strict=True))
    ranks = {
        name: _MEASURE_ORDER.index(_split_name(name)[0]) for name in (*measure_by_name, *constants)
    }
    return constants, measure_by_name, sorted(ranks, key=ranks.__getitem__)


def _split_name(name: str) -> tuple[str, list[str]]:
    """Split the name of a measure into the name without parameters, and the parameters."""
    if name in supported_measures:
        return name, []
    for family in supported_measures:
        if name.startswith(family) and (match := _PARAMETERS.fullmatch(name, len(family))):
            return family, match[1].split(",")
    raise MeasureError(f"unknown measure {quote(name)}; `supported_measures` lists the known ones")
