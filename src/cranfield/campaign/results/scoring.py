"""Scoring the accepted runs of a task; what was scored before is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, quoted
from cranfield.base.version import __version__
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.judgments import qrels_of, version_of
from cranfield.campaign.results.kept_scores import KeptScores
from cranfield.campaign.results.run_bytes import from_runs, none_readable
from cranfield.campaign.results.score_files import digest
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.topics import topic_ids
from cranfield.campaign.store.records import Judgments, Submission
from cranfield.collection.judged.coverage import Coverage, SystemCoverage
from cranfield.collection.judged.judged_runs import JudgedRuns, judging_settings
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.policies import Policies, policies
from cranfield.collection.judged.scorable import Scorable, Scorer
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import Measure, parse_measures


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
