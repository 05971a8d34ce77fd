"""Score sessions: measures of the concatenated lists, and those of clicks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.words import counted
from cranfield.collection.document_tables import DocumentTable, read_lengths
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.qrels import Qrels
from cranfield.measures import Measure, parse_measures
from cranfield.measures.sessions.clicks import Clicks, ClickU
from cranfield.scores import Scores
from cranfield.scores.several_measures import by_system
from cranfield.sessions.concatenating import concatenated
from cranfield.sessions.data import Sessions
from cranfield.sessions.log import LISTS, first_of_each
from cranfield.sessions.reading import read_sessions
from cranfield.tabular import frame_html


@dataclass(frozen=True, eq=False, repr=False)
class SessionEvaluation(Mapping[str, Scores]):
    """Scores of several measures of sessions: a mapping of text forms to scores.

    Attributes
    ----------
    sessions
        The sessions that were scored.
    judged
        Their concatenated lists, judged.
    scores
        The scores by text form; their topics are the sessions.
    """

    sessions: Sessions
    judged: JudgedRuns
    scores: Mapping[str, Scores]

    def __getitem__(self, measure: str | Measure) -> Scores:
        found = self.scores.get(str(measure))
        if found is None:
            [asked, *more] = parse_measures(measure)
            found = None if more else self.scores.get(str(asked))
        if found is None:
            raise KeyError(f"{measure} was not evaluated; {', '.join(self.scores)} were")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def by_system(self) -> pl.DataFrame:
        """Return the overall values with one row a system and a column a measure."""
        return by_system(self.scores)

    def _repr_html_(self) -> str:
        return frame_html(self.by_system(), repr(self))

    def __repr__(self) -> str:
        return (
            f"SessionEvaluation({counted(len(self.judged.topics), 'session')},"
            f" {counted(len(self.judged.systems), 'system')}: {', '.join(self.scores)})"
        )


def evaluate_sessions(
    sessions: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    topics: Any = None,
    clicks: Any = None,
    depth: int | None = None,
    duplicates: str = "first",
    until_click: bool = False,
    lengths: Any = None,
    **policies: Any,
) -> SessionEvaluation:
    """Score sessions of several queries.

    Parameters
    ----------
    sessions
        Whatever :func:`read_sessions` takes.
    qrels
        Judgments by topic; whatever :func:`cranfield.read_qrels` takes.
    measures
        Measures or their text forms: `sDCG`, `nsDCG`, `ClickU`, and any measure of a ranking, which
        scores the concatenated lists.
    topics, clicks
        As for :func:`read_sessions`.
    depth, duplicates, until_click
        How lists are put together, as for :func:`concatenated`. `ClickU` goes by clicks alone.
    lengths
        Lengths of documents in characters; whatever :func:`cranfield.judge` takes.
    policies
        As for :func:`cranfield.judge`: `negative`, `unjudged`, ..., but `topics` is not one.

    Returns
    -------
    SessionEvaluation
        A mapping of measures to :class:`Scores`, whose topics are the sessions with a judged topic.
        A session of such a topic in which a system found nothing scores as an empty ranking does.

    Raises
    ------
    MeasureError, InputError, PolicyError
        For what does not exist or cannot be read.

    Examples
    --------
    >>> rows = {"session": ["s", "s"], "query": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}
    >>> seen = {"session": ["s"], "query": [2], "rank": [1]}
    >>> ev = evaluate_sessions(
    ...     rows, {"t": {"b": 1}}, ["nsDCG", "RR", "ClickU(length=4000)"],
    ...     topics={"s": "t"}, clicks=seen,
    ... )
    >>> [round(float(scores.values[0, 0]), 4) for scores in ev.values()]
    [0.5435, 0.5, 0.4962]
    """
    wanted = parse_measures(measures)
    read = read_sessions(sessions, clicks=clicks, topics=topics)
    table = None if lengths is None else read_lengths(lengths)
    by_session = read.qrels(qrels)
    lists = concatenated(read, depth=depth, duplicates=duplicates, until_click=until_click)
    judged = lists.judged(by_session, by_session=True, lengths=table, **policies)
    settings = judged.policies.describe() | {
        "depth": depth,
        "duplicates": duplicates,
        "until_click": until_click,
    }
    clicked = None
    scores = {}
    for one in wanted:
        if isinstance(one, ClickU):
            clicked = clicked or clicks_of(read, by_session, judged, table)
            values = one.of_clicks(clicked, judged.shape)
        else:
            values = one.score(judged)
        scores[str(one)] = Scores(
            np.where(judged.scored, values, np.nan),
            judged.topics,
            judged.systems,
            measure=str(one),
            aggregate=one.info.aggregate,
            settings=settings,
            scale=one.scale,
            lower_is_better=one.info.lower_is_better,
        )
    return SessionEvaluation(read, judged, scores)


def clicks_of(
    sessions: Sessions, qrels: Qrels, judged: JudgedRuns, lengths: DocumentTable | None
) -> Clicks:
    """Put clicks in the cells of judged sessions, with what is known of the clicked documents."""
    text = pl.col("snippet").str.len_chars().cast(pl.Float64)
    # A snippet that is not given makes the text down to all lower ranks unknown.
    known = text.fill_null(float("nan")).cum_sum().over(LISTS).alias("text")
    results = sessions.results.with_columns(known)
    found = sessions.clicks.join(results, on=[*LISTS, "rank"], how="left", maintain_order="left")
    place = {name: i for i, name in enumerate(judged.topics)}
    topic_of = np.array([place.get(name, -1) for name in sessions.names], dtype=np.int64)
    found = found.with_columns(
        topic=pl.Series(topic_of[found["session"].to_numpy()]),
        again=~first_of_each(found, "system", "session", "doc"),
    ).filter(pl.col("topic") >= 0)
    cell = found["system"].to_numpy() * judged.shape[0] + found["topic"].to_numpy()
    order = np.argsort(cell, kind="stable")
    found = found[order]
    length: Floats = np.full(found.height, np.nan)
    if lengths is not None:
        asked, rows = lengths.found(found["doc"])
        length[asked] = lengths.values[rows]
    return Clicks(
        cell[order],
        found["query"].to_numpy(),
        found["rank"].to_numpy(),
        length,
        _grades(found, sessions.names, qrels),
        found["again"].to_numpy(),
        found["text"].to_numpy(),
    )


def _grades(found: pl.DataFrame, names: tuple[str, ...], qrels: Qrels) -> Ints:
    """Grade of each clicked document; 0 where it has none."""
    grades = qrels.flat().to_polars().select("topic", "doc", "grade")
    named = found.select(pl.Series("topic", names).gather(found["session"]), "doc")
    joined = named.join(grades, on=["topic", "doc"], how="left", maintain_order="left")
    return joined["grade"].fill_null(0).cast(pl.Int64).to_numpy()
