"""Compute and write the sheets of runs, and the packets of teams."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import polars as pl

from cranfield.base.arrays import compute_ranks
from cranfield.base.errors import PolicyError, check_choice, quote
from cranfield.base.files import open_atomically
from cranfield.base.kinds import OneOf
from cranfield.base.text import capitalise, inflect
from cranfield.campaign.checks.checking import select_public_metadata
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.pages import (
    SHEETS,
    encode_text,
    render_page,
    render_text,
    replace_folder,
    write_files,
)
from cranfield.campaign.results.leaderboard import compare_if_possible
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.results.sheet import (
    Category,
    Score,
    Sheet,
    SheetComparison,
    TopicScores,
    format_team,
    make_sheet_titles,
    make_sheet_values,
    to_score,
)
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import Rules, TaskRules, is_safe_name
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.collection.metadata.reading import read_metadata
from cranfield.evaluation.evaluation import Evaluation, TieEffect, describe_effects
from cranfield.measures import parse_measures
from cranfield.reporting.page.html import make_label
from cranfield.reporting.page.sections import write_verdict
from cranfield.reporting.summary import BETTER, WORSE, list_group_letters, make_verdict_matrix
from cranfield.scales.statements import MEANINGFUL, Meaningfulness, describe_order, meaningfulness
from cranfield.scores import Scores

ALL_RUNS = ("", "")
"""The group of all runs, as category and value."""

Group = tuple[str, str]
"""Category and value of a group of runs."""


def get_category_value(run: Submission, key: str) -> str:
    """Return the value of a category for a run: its type, or its answer to a question."""
    return run.type if key == "type" else run.answers.get(key, "")


def get_category_values(runs: Sequence[Submission], key: str) -> dict[str, str]:
    """Return the value of a category by tag, without runs that have no value."""
    return {run.tag: value for run in runs if (value := get_category_value(run, key))}


def find_reference_groups(
    runs: Sequence[Submission], task: TaskRules, team: str | None = None
) -> dict[str, Group | None]:
    """Return the reference group of each run: its first large group, or all runs if large, or None.

    A group is large if it has at least `min_category` runs. With a `team`, return groups for the
    runs of this team only, and count teams instead of runs, including this team; then neither a
    group nor the difference of two groups reveals the scores of fewer than `min_category` teams.
    """
    team_of = {run.tag: run.team for run in runs}
    members = {ALL_RUNS: set(team_of)}
    for key in task.categories:
        for tag, value in get_category_values(runs, key).items():
            members.setdefault((key, value), set()).add(tag)

    def is_large(tags: Collection[str]) -> bool:
        size = len(tags) if team is None else len({team_of[tag] for tag in tags} | {team})
        return size >= task.min_category

    group_of: dict[str, Group | None] = {}
    for run in runs:
        if team is None or run.team == team:
            groups = [*((key, get_category_value(run, key)) for key in task.categories), ALL_RUNS]
            large_groups = (g for g in groups if g in members and is_large(members[g]))
            group_of[run.tag] = next(large_groups, None)
    if team is None:
        return group_of
    # A group is excluded if it differs from a preferred group by runs of few other teams.
    allowed_groups = {group for group in group_of.values() if group is not None}
    for group, other_group in combinations(sorted(allowed_groups, reverse=True), 2):
        group_tags, other_tags = members[group], members[other_group]
        if {group, other_group} <= allowed_groups:
            for tags in (group_tags - other_tags, other_tags - group_tags):
                if any(team_of[tag] != team for tag in tags) and not is_large(tags):
                    allowed_groups.discard(other_group)
    return {tag: group if group in allowed_groups else None for tag, group in group_of.items()}


NAMING_OF_OTHERS = ("named", "hidden")
"""Options for the names of runs that are not significantly different from the run of a sheet."""

COUNTS = {
    "n_topics": "NumQ",
    "n_retrieved": "NumRet",
    "n_relevant": "NumRel",
    "n_relevant_retrieved": "NumRelRet",
}
"""Counts of a sheet, with the measures that compute them."""

RECALL = ("iprec_at_recall",)
"""The measures of interpolated precision at 11 levels of recall."""

PRECISION = {k: f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}


def list_sheet_measures(task: TaskRules) -> tuple[str, ...]:
    """Return the measures of sheets: standard measures, measures of the rules, and coverage."""
    coverage = (
        f"{name}@{depth}" for depth in _list_depths(task) for name in ("NumRet", "Unjudged")
    )
    precision = [name for k, name in PRECISION.items() if k <= (task.max_per_topic or k)]
    block = [*COUNTS.values(), *list_measures(task, RECALL), "AP", *precision, "Rprec"]
    return tuple(dict.fromkeys([*block, *list_measures(task), *coverage]))


def list_measures(task: TaskRules, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the text forms of measures, by default of those in the rules."""
    compat: Any = task.judging.get("compat")
    return tuple(map(str, parse_measures(names or task.measures, compat=compat)))


def _list_depths(task: TaskRules) -> tuple[int, ...]:
    return tuple(dict.fromkeys((10, *([task.pool.depth] if task.pool else []))))


def compare_each_run(scores: Scores) -> list[SheetComparison]:
    """Compare each run with all other runs, by the default comparison of all pairs."""
    ranks = compute_ranks(scores.overall(), scores.lower_is_better).tolist()
    n_runs = len(scores.systems)
    comparison = compare_if_possible(scores)
    if isinstance(comparison, str):
        return [SheetComparison(rank, n_runs, not_compared=comparison) for rank in ranks]
    statement = meaningfulness(comparison)
    letters = list_group_letters(comparison) or [""] * n_runs
    comparisons = []
    for k, (rank, verdicts) in enumerate(zip(ranks, make_verdict_matrix(comparison), strict=True)):
        # The row has the verdicts on this run against each other run.
        is_better, is_worse = verdicts == WORSE, verdicts == BETTER
        is_similar = ~(is_better | is_worse)
        similar_runs = [int(j) for j in comparison.order if j != k and is_similar[j]]
        comparisons.append(
            SheetComparison(
                rank=rank,
                n_runs=n_runs,
                groups=letters[k],
                method=f"{comparison.title}, alpha {comparison.alpha:g}",
                n_better=int(is_better.sum()),
                n_worse=int(is_worse.sum()),
                n_not_different=len(similar_runs),
                names=tuple(scores.systems[j] for j in similar_runs),
                verdict=_describe_verdict(statement, k),
            )
        )
    return comparisons


def _describe_verdict(statement: Meaningfulness, k: int) -> tuple[str, ...]:
    """Return sentences about meaningfulness, and about invariant differences of the run."""
    sentence, comparison = write_verdict(statement), statement.comparison
    is_of_run = ((comparison.first == k) | (comparison.second == k)) & comparison.is_significant()
    if statement.verdict == MEANINGFUL or not is_of_run.any():
        return (sentence,)
    n_ordered = int((is_of_run & statement.dominance.holds).sum())
    nouns = ("significantly different run", "significantly different runs")
    order = describe_order(int(is_of_run.sum()), n_ordered, *nouns)
    return (sentence, f"{capitalise(order)}.")


def make_sheet_inputs(
    campaign: OpenedCampaign,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
) -> SheetInputs:
    """Return the inputs of the sheets of the accepted runs of a task."""
    rules, registry = campaign.rules.get_task(task), campaign.registry
    # The requested measure may be among those of all sheets.
    names = dict.fromkeys([*list_sheet_measures(rules), *([] if measure is None else [measure])])
    scoring = Scoring(campaign, rules.name, [*names], judgments)
    evaluation, runs = scoring.evaluate(), scoring.submissions
    ties = Scoring(campaign, rules.name, list_measures(rules), judgments).find_ties(evaluation)
    warnings = {
        run.tag: tuple(f.message for f in registry.list_faults(run.id) if f.severity == "warning")
        for run in runs
    }
    return SheetInputs(
        evaluation,
        runs,
        campaign.rules,
        rules,
        scoring.judgments.version,
        teams={team.id: team.name for team in registry.list_teams()},
        warnings=warnings,
        metadata={run.tag: select_public_run_metadata(run)[0] for run in runs if run.metadata},
        ties=ties,
        pool_depths=registry.get_pool_depths(rules.name),
        measure=measure,
    )


def select_public_run_metadata(run: Submission) -> tuple[str, tuple[str, ...]]:
    """Return the public part of the metadata of a run, as YAML, and the removed keys."""
    metadata = read_metadata((run.metadata or "").encode())
    return ("", ()) if metadata is None else select_public_metadata(metadata)


@dataclass(frozen=True, eq=False)
class SheetInputs:
    """Scores, submissions and rules from which the sheets of a task are computed."""

    evaluation: Evaluation  # scores of all runs by the measures of `list_sheet_measures`
    runs: Sequence[Submission]
    rules: Rules
    task: TaskRules
    judgments: str = ""  # version
    teams: Mapping[str, str] = field(default_factory=dict)  # names by id
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the check, by tag
    metadata: Mapping[str, str] = field(default_factory=dict)  # public part as YAML, by tag
    ties: Sequence[TieEffect] = ()  # effects on the measures of the task
    pool_depths: Mapping[str, int] = field(default_factory=dict)  # recorded depths, by tag
    measure: str | None = None  # of charts, topics and comparisons; by default the first

    @cached_property
    def scores(self) -> Scores:
        """The scores of charts, topics and comparisons."""
        return self.select_scores(self.measure or list_measures(self.task)[0])

    def select_scores(self, measure: str) -> Scores:
        """Return the scores by a measure, with topics and tags in order."""
        tags = sorted(run.tag for run in self.runs)
        return self.evaluation[measure].select(sort_topics_naturally(self.evaluation.topics), tags)

    def select_members(self, scores: Scores, group: Group) -> Scores:
        """Return the scores of the runs of a group, in order of tags."""
        key, value = group
        tags = [run.tag for run in self.runs if not key or get_category_value(run, key) == value]
        return scores.select(systems=sorted(tags))

    def compute_statistics(self, scores: Scores, group: Group) -> pl.DataFrame:
        """Return best, median and worst score of the runs of a group, and their number."""
        members = self.select_members(scores, group)
        return topic_statistics(members, median=self.task.median).rows.drop("group")

    def make_sheets(self, others: str = "named", team: str | None = None) -> tuple[Sheet, ...]:
        """Return the sheets of all runs or of a team, in order of tags.

        If `others` is `hidden`, the sheets name no other run. The reference groups for a team do
        not reveal the scores of fewer than `min_category` teams, counting this team.
        """
        check_choice("others", others, NAMING_OF_OTHERS)
        scores, task = self.scores, self.task
        group_of = find_reference_groups(self.runs, task, team)
        group_fields = {group: self._make_group_fields(group) for group in {*group_of.values()}}
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        n_relevant = [int(count) for count in np.nanmax(counts, axis=1)]
        measures = tuple(dict.fromkeys([*list_measures(task), scores.measure]))
        names = dict.fromkeys([*list_sheet_measures(task), *measures])
        overall = {name: self.select_scores(name).overall().tolist() for name in names}
        submissions = {run.tag: run for run in self.runs}
        comparisons = compare_each_run(scores)
        if others == "hidden":
            not_compared = comparisons[0].not_compared
            reason = not_compared and "the reason is hidden, because it may name other runs"
            comparisons = [replace(run, names=None, not_compared=reason) for run in comparisons]
        sheets = []
        for k, tag in enumerate(scores.systems):
            if tag not in group_of:
                continue
            fields, by_topic, ranks = group_fields[group_of[tag]]
            # In the order of the fields of TopicScores.
            columns = [scores.topics, n_relevant, map(to_score, scores.values[:, k].tolist())]
            columns += [*by_topic, ranks[tag]] if by_topic else []
            values = {name: row[k] for name, row in overall.items()}
            sheets.append(
                Sheet(
                    **self._make_run_fields(submissions[tag]),
                    **_make_overall_fields(values, measures, task),
                    measure=scores.measure,
                    lower_is_better=scores.lower_is_better,
                    by_topic=tuple(map(TopicScores, *columns)),
                    comparison=comparisons[k],
                    **fields,
                )
            )
        return tuple(sheets)

    def _make_group_fields(
        self, group: Group | None
    ) -> tuple[dict[str, Any], list[list[Score]], dict[str, list[int]]]:
        """Return the fields of sheets about a group, its statistics by topic, and ranks by tag."""
        if group is None:
            return {}, [], {}
        names = list_measures(self.task, RECALL)
        levels = np.stack([self.select_scores(name).overall() for name in names])
        # The topics of these scores are the levels of recall.
        curves = Scores(levels, names, self.scores.systems, "IPrec")
        median = self.compute_statistics(curves, group)["median"].to_list()
        rows = self.compute_statistics(self.scores, group)
        members = self.select_members(self.scores, group)
        lower_is_better = members.lower_is_better
        ranks = np.array([compute_ranks(row, lower_is_better) for row in members.values], int)
        category = Category(*group, len(members.systems))
        fields = {"category": category, "median_precision": tuple(map(to_score, median))}
        by_topic = [[*map(to_score, rows[name])] for name in ("best", "median", "worst")]
        return fields, by_topic, dict(zip(members.systems, ranks.T.tolist(), strict=True))

    def _make_run_fields(self, run: Submission) -> dict[str, Any]:
        """Return the fields of a sheet about the run and its task."""
        # If no run is marked, the pooled runs are unknown.
        is_marked = any(submission.pooled for submission in self.runs)
        depth = self.pool_depths.get(run.tag) if run.pooled else 0
        fields = ("tag", "team", "type", "priority", "description", "late", "pooled", "received")
        return {
            **{name: getattr(run, name) for name in fields},
            "campaign": self.rules.id,
            "campaign_title": self.rules.title,
            "task": self.task.name,
            "task_title": self.task.title,
            "judgments": self.judgments,
            "team_name": self.teams.get(run.team, ""),
            "answers": dict(run.answers),
            "depth": depth if is_marked else None,
            "sha256": run.object,
            "warnings": self.warnings.get(run.tag, ()),
            "metadata": self.metadata.get(run.tag, ""),
            "notes": tuple(describe_effects(tie for tie in self.ties if tie.system == run.tag)),
        }


def sort_topics_naturally(topics: Sequence[str]) -> list[str]:
    """Sort topics in natural order, so that 2 comes before 10."""

    def split_topic(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=split_topic)


def _make_overall_fields(
    values: Mapping[str, float], measures: Sequence[str], task: TaskRules
) -> dict[str, Any]:
    """Return the fields of a sheet about all topics, from the overall values by measure."""
    counts = {name: round(values[measure]) for name, measure in COUNTS.items()}
    unjudged: dict[int, Score] = {}
    for depth in _list_depths(task):
        n_retrieved = values[f"NumRet@{depth}"]
        n_unjudged = values[f"Unjudged@{depth}"] * depth * counts["n_topics"]
        unjudged[depth] = to_score(n_unjudged / n_retrieved) if n_retrieved else None
    return {
        **counts,
        "precision_at_recall": tuple(
            to_score(values[name]) for name in list_measures(task, RECALL)
        ),
        "precision_at": {k: to_score(values[n]) for k, n in PRECISION.items() if n in values},
        "average_precision": to_score(values["AP"]),
        "r_precision": to_score(values["Rprec"]),
        "measures": {name: to_score(values[name]) for name in measures},
        "unjudged": unjudged,
    }


def make_sheet_page(sheet: Sheet) -> str:
    """Return the sheet as a self-contained HTML page without scripts."""
    values = make_sheet_values(sheet)
    counts = f"{', '.join(map(make_label, values['titles']))}. {make_label(values['rank'])}."
    title, skip = make_label(sheet.tag), "Skip to the sheet"
    return render_page("sheet.html", title, counts=counts, skip=skip, **values)


def write_sheets(
    campaign: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: Annotated[str, OneOf(NAMING_OF_OTHERS)] = "named",
) -> tuple[Path, ...]:
    """Write the sheets of the accepted runs of a task as HTML, text and JSON, and an index.

    Parameters
    ----------
    campaign, task, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    folder
        Folder of the sheets, which is written completely or not at all. It must be new, empty, or
        have earlier sheets, which are replaced.
    measure
        Measure of charts, topics and comparisons; by default the first measure of the rules.
    others
        Whether the sheet of a run names the other runs that are not significantly different from
        it: `named` or `hidden`.

    Returns
    -------
    tuple of Path
        The index, and then the sheets.

    Raises
    ------
    PolicyError
        If the folder contains other files, or is in the campaign's folder.
    """
    target = campaign.check_outside(folder)
    sheets = make_sheet_inputs(campaign, task, judgments, measure=measure).make_sheets(others)
    files = dict(make_index_and_sheets(sheets))
    with replace_folder(target, "sheets") as new_folder:
        write_files(new_folder, files)
    return tuple(target / name for name in files)


def make_index_and_sheets(sheets: Sequence[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes: the index, and for each sheet a page, text and JSON."""
    yield "index.html", encode_text(_make_index_page(sheets))
    for name, content in make_sheet_files(sheets):
        yield f"{SHEETS}/{name}", content


def make_sheet_files(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield `TAG.html`, `TAG.txt` and `TAG.json` of each sheet, with their bytes."""
    for sheet in sheets:
        yield f"{sheet.tag}.html", encode_text(make_sheet_page(sheet))
        yield f"{sheet.tag}.txt", encode_text(sheet.to_text())
        yield f"{sheet.tag}.json", encode_text(sheet.to_json())


def _make_index_page(sheets: Sequence[Sheet]) -> str:
    """Return a page with links to all sheets, in order of rank."""
    title, counts, heading = "Sheets", "", "Runs"
    if sheets:
        campaign, title = map(make_label, make_sheet_titles(sheets[0]))
        counts, heading = f"{campaign}. {inflect(len(sheets), 'run')}.", "Sheets"
    return render_page(
        "sheets.html",
        title,
        counts=counts,
        headings={"runs": heading},
        skip="Skip to the runs",
        sheets=sorted(sheets, key=lambda sheet: (sheet.comparison.rank, sheet.tag)),
    )


def write_packet(
    campaign: OpenedCampaign,
    team: str,
    path: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> Path:
    """Write the packet of a team: the sheets of its runs, and statistics of reference groups.

    Parameters
    ----------
    campaign
        The campaign.
    team
        Id of the team.
    path
        Archive to write if the name ends in `.zip`, otherwise a folder; only the owner can read the
        files. The same campaign gives the same bytes.
    task
        Name of a task; by default all tasks for which the team has accepted runs.
    judgments
        Version of the judgments; by default the newest version of each task.

    Raises
    ------
    PolicyError
        For a team that is unknown or has no accepted run, or a path that `write_sheets` refuses.

    Notes
    -----
    Runs of other teams are not named. Best, median and worst scores are those of categories with
    runs of at least `min_category` teams, counting this team. If two categories differ by runs of
    fewer teams, the packet has only one of them. Teams that share their packets may infer more.
    """
    target = campaign.check_outside(path)
    if campaign.registry.find_team(team) is None:
        hint = "`cranfield campaign team list` lists the teams"
        raise PolicyError(f"unknown team {quote(team)}; {hint}")
    files = _make_team_files(_read_all_inputs(campaign, task, judgments, team), team)
    if not files:
        raise PolicyError(f"team {quote(team)} has no accepted run")
    return _write_packet(files, target)


def write_packets(
    campaign: OpenedCampaign,
    folder: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> tuple[Path, ...]:
    """Write the packets of all teams with accepted runs as `TEAM.zip`; see :func:`write_packet`.

    All older packets in the folder are replaced or, for teams without accepted runs, removed.

    Raises
    ------
    PolicyError
        For a folder with other files or in the campaign's folder, and for a team whose id is not a
        valid file name, or differs from another id only in case.
    """
    target = campaign.check_outside(folder)
    all_inputs = _read_all_inputs(campaign, task, judgments)
    teams = sorted({run.team for inputs in all_inputs for run in inputs.runs})
    first_ids: dict[str, str] = {}
    for team in teams:
        if not is_safe_name(team) or first_ids.setdefault(team.lower(), team) != team:
            reason = "has an id that is not a valid, unique file name; write its packet separately"
            raise PolicyError(f"team {quote(team)} {reason}")
    with replace_folder(target, "packets", is_private=True) as new_folder:
        for team in teams:
            _write_packet(_make_team_files(all_inputs, team), new_folder / f"{team}.zip")
    return tuple(target / f"{team}.zip" for team in teams)


def _read_all_inputs(
    campaign: OpenedCampaign, task: str | None, judgments: str | None, team: str | None = None
) -> list[SheetInputs]:
    """Return the inputs of the sheets of each task that has accepted runs (of a team)."""
    names = [campaign.rules.get_task(task).name] if task is not None else [*campaign.rules.tasks]
    tasks = [
        name for name in names if campaign.registry.list_submissions(name, (ACCEPTED,), team=team)
    ]
    return [make_sheet_inputs(campaign, name, judgments) for name in tasks]


def _make_team_files(all_inputs: Iterable[SheetInputs], team: str) -> dict[str, bytes]:
    """Return the files of the packet of a team, by name."""
    files = {}
    for inputs in all_inputs:
        if any(run.team == team for run in inputs.runs):
            sheets, folder = inputs.make_sheets("hidden", team), inputs.task.name
            values = {"sheets": sheets, "inputs": inputs, "team": format_team(sheets[0])}
            readme = render_text("packet.txt", **values)
            statistics = _make_statistics_table(inputs, team).write_csv()
            files[f"{folder}/README.txt"] = encode_text(readme)
            files[f"{folder}/statistics.csv"] = statistics.encode()
            files |= {f"{folder}/{name}": data for name, data in make_index_and_sheets(sheets)}
    return files


def _write_packet(files: Mapping[str, bytes], target: Path) -> Path:
    """Write a folder, or an archive in order of name, with a fixed time for reproducible bytes."""
    if target.suffix.lower() != ".zip":
        with replace_folder(target, "packet", is_private=True) as new_folder:
            write_files(new_folder, files, is_private=True)
        return target
    with (
        open_atomically(target, is_private=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name in sorted(files):
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = ZIP_DEFLATED
            # Set explicitly, because the defaults depend on the system.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, files[name])
    return target


def _make_statistics_table(inputs: SheetInputs, team: str) -> pl.DataFrame:
    """Return best, median and worst scores of the reference groups of the runs of a team."""
    group_of = find_reference_groups(inputs.runs, inputs.task, team)
    groups = sorted({group for group in group_of.values() if group is not None})
    columns = ("measure", "category", "value", "topic", "best", "median", "worst", "runs")
    tables = [
        inputs.compute_statistics(inputs.select_scores(measure), (category, value)).with_columns(
            measure=pl.lit(measure),
            # Category and value are empty for all runs.
            category=pl.lit(category),
            value=pl.lit(value),
            runs="n",
        )
        for measure in list_measures(inputs.task)
        for category, value in groups
    ]
    return pl.concat(tables).select(columns) if tables else pl.DataFrame(schema=columns)
