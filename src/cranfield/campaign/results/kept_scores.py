"""Scores that are kept: files of the runs that were scored together, read again or given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import compress

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.score_files import digest, enter, kept_table, written
from cranfield.campaign.store.records import ScoreFile
from cranfield.collection.judged.coverage import SystemCoverage
from cranfield.collection.qrels import topic_order
from cranfield.evaluation.evaluation import Evaluation

MOST_PARTS = 8
"""Parts that are read side by side; more are put together."""

OF_TOPICS, OF_RUNS = "topics", "runs"
"""The two files of a part: scores by run and topic, and what is of a run as a whole."""


@dataclass(frozen=True, eq=False)
class Part:
    """Runs that were scored together by some measures.

    `runs` has a row a run: `run` (its tag), `object`, `coverage`, and the overall value by each
    measure. Rows of the file of topics are in the order of these runs, and of the topics in each.
    """

    topics_file: ScoreFile
    runs_file: ScoreFile
    runs: pl.DataFrame

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.runs.columns[3:])

    @property
    def files(self) -> tuple[ScoreFile, ScoreFile]:
        return self.topics_file, self.runs_file

    @property
    def objects(self) -> list[str]:
        return self.runs["object"].to_list()


class KeptScores:
    """The parts on one basis: the same judgments, policies and program.

    Parameters
    ----------
    opened
        The campaign.
    task, judgments
        Names of the task and of the version of its judgments.
    basis
        SHA-256 of all that scores depend on besides the run and the measure.
    """

    def __init__(self, opened: Opened, task: str, judgments: str, basis: str) -> None:
        self.opened = opened
        self.task, self.judgments, self.basis = task, judgments, basis
        self.damaged: list[ScoreFile] = []
        self.parts = self._read()

    def _records(self) -> dict[str, dict[str, ScoreFile]]:
        """Return the registered files of this basis by part, and by kind."""
        found: dict[str, dict[str, ScoreFile]] = {}
        for one in self.opened.registry.score_files(self.task):
            if one.about.get("basis") == self.basis:
                found.setdefault(one.about["part"], {})[one.about["kind"]] = one
        return found

    def _read(self) -> list[Part]:
        parts = []
        for files in self._records().values():
            runs = kept_table(self.opened, files[OF_RUNS])
            if runs is None:
                self.damaged += files.values()
            else:
                parts.append(Part(files[OF_TOPICS], files[OF_RUNS], runs))
        return parts

    @property
    def max_grade(self) -> int:
        """The highest grade of the judgments."""
        return int(self.parts[0].topics_file.about["max_grade"])

    def of_runs(self, objects: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
        """Return coverage and overall values: `object`, `coverage`, and a column a measure."""
        found = pl.DataFrame({"object": pl.Series(objects, dtype=pl.String)})
        shared = [[m for m in measures if m in part.measures] for part in self.parts]
        covered = pl.concat(part.runs.select("object", "coverage") for part in self.parts)
        found = found.join(covered.unique("object"), on="object", how="left", maintain_order="left")
        for measure in measures:
            here = [
                part.runs.select("object", measure)
                for part, some in zip(self.parts, shared, strict=True)
                if measure in some
            ]
            known = pl.concat(here).unique("object")
            found = found.join(known, on="object", how="left", maintain_order="left")
        return found

    def lacking(
        self, objects: Iterable[str], measures: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Return the runs that lack a score by some measure, and the measures that some lack."""
        here: dict[str, set[str]] = {}
        for part in self.parts:
            for one in part.objects:
                here.setdefault(one, set()).update(part.measures)
        absent = {one: [m for m in measures if m not in here.get(one, ())] for one in objects}
        by_all = {m for some in absent.values() for m in some}
        return [one for one, some in absent.items() if some], [m for m in measures if m in by_all]

    def values(
        self, objects: Sequence[str], measures: Sequence[str]
    ) -> tuple[list[str], dict[str, Floats]] | None:
        """Return topics, and scores of shape (topics, runs) by measure.

        None where a file turned out to be damaged, whose part is given up.
        """
        read: list[tuple[Part, str, list[str], Floats]] = []
        wanted = set(objects)
        for part in list(self.parts):
            chosen = [one for one in measures if one in part.measures]
            if not chosen or wanted.isdisjoint(part.objects):
                continue
            frame = kept_table(self.opened, part.topics_file, ["topic", *chosen])
            if frame is None:
                self.parts.remove(part)
                self.damaged += part.files
                return None
            topics = frame["topic"].head(frame.height // part.runs.height).to_list()
            shape = (part.runs.height, len(topics))
            for one in chosen:
                read.append((part, one, topics, frame[one].to_numpy().reshape(shape)))
        labels = topic_order(list({topic for _, _, topics, _ in read for topic in topics}))
        row = {topic: place for place, topic in enumerate(labels)}
        place = {one: column for column, one in enumerate(objects)}
        found = {one: np.full((len(labels), len(objects)), np.nan) for one in measures}
        for part, measure, topics, table in read:
            here = [k for k, one in enumerate(part.objects) if one in place]
            columns = [place[part.objects[k]] for k in here]
            found[measure][np.ix_([row[topic] for topic in topics], columns)] = table[here].T
        # Topics of other runs alone, where each run has its own.
        some = np.any([~np.isnan(table).all(axis=1) for table in found.values()], axis=0)
        if some.all():
            return labels, found
        return list(compress(labels, some)), {one: table[some] for one, table in found.items()}

    def add(self, evaluation: Evaluation, objects: Mapping[str, str]) -> None:
        """Keep what was scored; `objects` has the SHA-256 of each system's bytes."""
        order = sorted(evaluation.systems, key=objects.__getitem__)
        coverage = {one.system: one for one in evaluation.coverage.systems}
        overall = {
            name: dict(zip(scores.systems, scores.overall().tolist(), strict=True))
            for name, scores in evaluation.items()
        }
        runs = pl.DataFrame(
            {
                "run": pl.Series(order, dtype=pl.String),
                "object": pl.Series([objects[one] for one in order], dtype=pl.String),
                "coverage": pl.Series([asdict(coverage[one]) for one in order], dtype=COVERAGE),
                **{
                    name: pl.Series([of[one] for one in order], dtype=pl.Float64)
                    for name, of in overall.items()
                },
            }
        )
        place = [evaluation.systems.index(one) for one in order]
        values = {name: scores.values[:, place] for name, scores in evaluation.items()}
        grade = evaluation.judged.max_grade
        self._enter(self._written(runs, evaluation.topics, values, grade), ())
        self._put_together()

    def _put_together(self) -> None:
        """Make one part of those that hold the same measures, where there are too many."""
        if len(self.parts) <= MOST_PARTS:
            return
        alike: dict[tuple[str, ...], list[Part]] = {}
        for part in self.parts:
            alike.setdefault(part.measures, []).append(part)
        for measures, parts in alike.items():
            runs = pl.concat(part.runs for part in parts).unique("object").sort("object")
            read = self.values(runs["object"].to_list(), measures) if len(parts) > 1 else None
            if read is not None:
                self._enter(self._written(runs, *read, self.max_grade), parts)

    def _written(
        self,
        runs: pl.DataFrame,
        topics: Sequence[str],
        values: Mapping[str, Floats],
        max_grade: int,
    ) -> Part:
        """Write the two files of a part; nobody knows of them yet."""
        names = pl.Series(topics, dtype=pl.String)
        every = pl.DataFrame(
            {
                "run": runs["run"].gather(np.repeat(np.arange(runs.height), len(topics))),
                "topic": names.gather(np.tile(np.arange(len(topics)), runs.height)),
                **{name: pl.Series(table.T.ravel()) for name, table in values.items()},
            }
        )
        part = digest(self.basis, runs["object"].to_list(), list(values))
        records = [
            written(
                self.opened,
                frame,
                self.task,
                self.judgments,
                basis=self.basis,
                part=part,
                kind=kind,
                runs=str(runs.height),
                max_grade=str(max_grade),
            )
            for kind, frame in ((OF_TOPICS, every), (OF_RUNS, runs))
        ]
        return Part(records[0], records[1], runs)

    def _enter(self, made: Part, gone: Sequence[Part]) -> None:
        old = [*self.damaged, *(file for part in gone for file in part.files)]
        details = {"judgments": self.judgments, "runs": made.runs.height}
        enter(self.opened, made.files, old, details)
        self.damaged = []
        self.parts = [*(part for part in self.parts if part not in gone), made]


COVERAGE = pl.Struct(
    {
        one.name: {"str": pl.String, "int": pl.Int64}.get(str(one.type), pl.List(pl.String))
        for one in fields(SystemCoverage)
    }
)
"""What the judgments cover of a run, as a column."""
