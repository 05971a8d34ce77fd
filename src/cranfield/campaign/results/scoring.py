"""Scoring the accepted runs of a task; scores computed before are read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from io import BytesIO
from itertools import compress
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, quoted, warn
from cranfield.base.files import file_sha256, whole_file
from cranfield.base.version import __version__
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.stored_inputs import from_runs, none_readable, qrels_of, version_of
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.topics import topic_ids
from cranfield.campaign.store.records import (
    SCORES,
    Judgments,
    ScoreFile,
    Submission,
    private_folder,
)
from cranfield.collection.judged.coverage import Coverage, Scorable, Scorer, SystemCoverage
from cranfield.collection.judged.judged_runs import JudgedRuns, judging_settings
from cranfield.collection.judged.judging import judge
from cranfield.collection.policies import Policies, policies
from cranfield.collection.qrels import topic_order
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure


def digest(*parts: object) -> str:
    """Return the SHA-256 of values, as JSON text."""
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def kept_table(
    opened: Opened, record: ScoreFile, columns: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """Return the table in a file; None where it is not what was written, which is said.

    The bytes are read once: another process may put files together, and remove them, meanwhile.
    """
    try:
        data, what = (opened.folder / record.path).read_bytes(), "is damaged"
    except OSError:
        data, what = b"", "is missing"
    if sha256(data).hexdigest() == record.sha256:
        return pl.read_parquet(BytesIO(data), columns=None if columns is None else [*columns])
    # Another process may just have put it together with others.
    if record in opened.registry.score_files(record.task):
        said = f"{record.path} {what}: what it held is computed again"
        warn(said, stacklevel=2)
    return None


def written(
    opened: Opened, frame: pl.DataFrame, task: str, judgments: str, **about: str
) -> ScoreFile:
    """Write a file, of which nobody knows yet; its key is the hash of what it is about."""
    key = digest(task, judgments, about)
    private_folder(opened.folder / SCORES)
    path = f"{SCORES}/{key[:32]}.parquet"
    with whole_file(opened.folder / path, private=True, synced=True) as out:
        frame.write_parquet(out, statistics=False)
    return ScoreFile(key, task, judgments, path, file_sha256(opened.folder / path), about)


def enter(
    opened: Opened, new: Sequence[ScoreFile], old: Iterable[ScoreFile], details: Mapping[str, Any]
) -> None:
    """Register files in the place of others, in one change; the others are removed then."""
    [task] = {one.task for one in new}
    keys = {one.key for one in new}
    with opened.registry.change("score", task, details) as change:
        known = {one.key: one for one in change.score_files(task)}
        for one in new:
            (change.update if one.key in known else change.insert)(one)
        gone = [one for one in old if known.get(one.key) == one and one.key not in keys]
        for one in gone:
            change.remove(one)
    for one in gone:
        (opened.folder / one.path).unlink(missing_ok=True)


def kept_frame(
    opened: Opened,
    task: str,
    judgments: str,
    basis: str,
    make: Callable[[], tuple[pl.DataFrame, dict[str, str]]],
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return a table, and what is said of it, which takes long to make: once made, it is kept."""
    damaged = []
    for one in opened.registry.score_files(task):
        if one.about.get("basis") == basis:
            if (kept := kept_table(opened, one)) is not None:
                return kept, one.about
            damaged.append(one)
    frame, about = make()
    record = written(opened, frame, task, judgments, basis=basis, **about)
    enter(opened, [record], damaged, {"judgments": judgments})
    return frame, about


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


@dataclass(frozen=True, eq=False)
class KeptRuns(Scorable):
    """Runs that were scored before: what an evaluation says of them, without their rankings.

    Attributes
    ----------
    topics, systems
        Labels, in order.
    policies, coverage
        How the rankings were judged, and what runs and judgments did not have in common.
    highest
        The highest grade of all judgments.
    values
        Scores by text form, shape (topics, systems).
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    policies: Policies
    coverage: Coverage
    highest: int
    values: Mapping[str, Floats]

    @property
    def max_grade(self) -> int:
        """The highest grade of all judgments."""
        return self.highest

    def scores_by(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure."""
        return [self.values[str(one)] for one in measures]

    def settings_for(self, measure: Scorer) -> dict[str, Any]:
        """Return the policies, and the scale of grades."""
        return judging_settings(self.policies, measure, self.max_grade)


class Scoring:
    """One task, one version of its judgments, some measures: what is scored, and how.

    Parameters
    ----------
    opened, task, measures, judgments
        As for :func:`scored`.
    """

    def __init__(
        self,
        opened: Opened,
        task: str | None = None,
        measures: Sequence[str | Measure] | None = None,
        judgments: str | None = None,
    ) -> None:
        self.opened = opened
        self.rules: TaskRules = opened.rules.task(task)
        chosen: dict[str, Any] = dict(self.rules.judging)
        self.compat: str | None = chosen.pop("compat", None)
        self.policies = policies(self.compat, **chosen)
        self.measures = parse_measures(measures or self.rules.measures, compat=self.compat)
        self.judgments: Judgments = version_of(opened, self.rules.name, judgments)
        accepted = opened.registry.submissions(self.rules.name)
        self.submissions = tuple(sorted(accepted, key=lambda one: one.tag))
        if not self.submissions:
            raise CranfieldError(f"task {quoted(self.rules.name)} has no accepted run")

    @property
    def objects(self) -> dict[str, str]:
        """SHA-256 of each run's bytes, by tag, in order of tag."""
        return {one.tag: one.object for one in self.submissions}

    def only(self, measure: Measure) -> Scoring:
        """Return the same of one measure."""
        return Scoring(self.opened, self.rules.name, [measure], self.judgments.version)

    def basis(self, together: bool = False) -> str:
        """Return the SHA-256 of all that scores depend on besides the run and the measure.

        Of measures that look at several runs together, all runs are part of it.
        """
        return digest(
            __version__,
            self.judgments.object,
            topic_ids(self.rules),
            self.policies.describe(),
            self.rules.format,
            self.objects if together else {},
        )

    def kept(self) -> list[tuple[KeptScores, list[str]]]:
        """Score what was not scored before; return all that is kept, and of which measures.

        Runs that cannot be read are no longer among the submissions then.
        """
        before = len(self.objects)
        found = []
        for together in (False, True):
            asked = [one for one in self.measures if one.info.others == together]
            if asked:
                names = [str(one) for one in asked]
                basis = self.basis(together)
                here = KeptScores(self.opened, self.rules.name, self.judgments.version, basis)
                self._complete(here, names)
                found.append((here, names))
        # Measures of several runs together depend on which runs there are.
        return found if len(self.objects) == before else self.kept()

    def _complete(self, kept: KeptScores, names: Sequence[str]) -> None:
        absent, by = kept.lacking(self.objects.values(), names)
        if not absent:
            return
        lacking = set(absent)
        runs = [one for one in self.submissions if one.object in lacking]
        found = self._evaluated(runs, [one for one in self.measures if str(one) in by])
        unreadable = self.opened.unreadable
        self.submissions = tuple(one for one in self.submissions if one.id not in unreadable)
        if not self.submissions:
            raise none_readable(self.opened, self.rules.name)
        if found is not None:
            kept.add(found, self.objects)

    def _evaluated(
        self, runs: Sequence[Submission], measures: Sequence[Measure]
    ) -> Evaluation | None:
        """Score some runs from their bytes; None if none of them can be read."""
        qrels = qrels_of(self.opened, self.rules, self.judgments)

        def judged(some: Sequence[Submission]) -> JudgedRuns | None:
            return from_runs(
                *(self.opened, self.rules, some),
                lambda read: judge(read, qrels, **self.policies.describe()),
            )

        try:
            found = judged(runs)
        except InputError:
            if len(runs) == len(self.objects):
                raise
            # A run without a judged topic cannot be judged alone, but among others.
            found = judged(self.submissions)
        # Scores are kept by text form, whatever a measure was called when it was asked for.
        wanted = [one() for one in measures]
        return None if found is None else score(found, wanted, compat=self.compat)

    def evaluation(self) -> Evaluation:
        """Return the scores by topic."""
        values: dict[str, Floats] = {}
        topics: list[str] = []
        kept = self.kept()
        wanted = list(dict.fromkeys(self.objects.values()))
        # Two tags of the same bytes have the same scores.
        column = [wanted.index(one) for one in self.objects.values()]
        for here, names in kept:
            while (read := here.values(wanted, names)) is None:
                self._complete(here, names)
                if len(self.objects) < len(column):
                    return self.evaluation()
            topics, tables = read
            values |= {name: table[:, column] for name, table in tables.items()}
        first = kept[0][0]
        runs = KeptRuns(
            tuple(topics),
            tuple(self.objects),
            self.policies,
            coverage_of(first.of_runs(list(self.objects.values()), []), self.objects),
            first.max_grade,
            values,
        )
        return score(runs, self.measures, compat=self.compat)

    def overall(self) -> pl.DataFrame:
        """Return the overall value of each run by each measure, without looking at topics.

        A row a run: `run`, `coverage` and a column a measure.
        """
        kept = self.kept()
        wanted = list(self.objects.values())
        parts = [one.of_runs(wanted, names) for one, names in kept]
        tags = pl.Series("run", list(self.objects), dtype=pl.String)
        values = [part.drop("object", "coverage") for part in parts]
        whole = pl.concat([parts[0].select("coverage"), *values], how="horizontal")
        return whole.select(tags, "coverage", *map(str, self.measures))


def coverage_of(runs: pl.DataFrame, tags: Iterable[str]) -> Coverage:
    """Make the coverage of runs from the column that is kept of it."""
    return Coverage(
        tuple(
            SystemCoverage(
                **{
                    **kept,
                    "system": tag,
                    "missing": tuple(kept["missing"]),
                    "extra": tuple(kept["extra"]),
                }
            )
            for tag, kept in zip(tags, runs["coverage"], strict=True)
        )
    )


def scored(
    opened: Opened,
    task: str | None = None,
    *,
    measures: Sequence[str | Measure] | None = None,
    judgments: str | None = None,
) -> Evaluation:
    """Score the accepted runs of a task; what was scored before is read, not scored again.

    Parameters
    ----------
    opened
        The campaign.
    task
        The task; the only one where there is no other.
    measures
        Measures or their text forms; those of the task's rules by default.
    judgments
        A version of the judgments; the newest by default.

    Returns
    -------
    Evaluation
        Systems are tags, in order. The scores are those of :func:`cranfield.evaluate` of all runs,
        to the bit. Files in `scores/` keep them, by what they come from: the bytes of the run and
        of the judgments, the measure, the policies and the version of the program. A measure that
        looks at other runs, such as `URisk`, is kept for this very set of runs.

    Raises
    ------
    CranfieldError
        Where there is no accepted run, or there are no judgments.
    InputError
        If no run can be read.

    Warns
    -----
    CranfieldWarning
        For a run that was not scored before and cannot be read: it is excluded.
        For a file of scores that is damaged or missing; what it held is computed again.
    """
    return Scoring(opened, task, measures, judgments).evaluation()
