"""Command that checks judgments and runs, also by the rules of a task: `check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.text import sanitise
from cranfield.cli import options as cli


@cli.command()
@cli.settings("encoding separator numbers columns")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options("rules", rules={"metavar": "PATH"})
@cli.options_from("cranfield.campaign.results.scoring.score_runs", "task", requires="--rules")
@cli.options_from("cranfield.campaign.check_run", "tag team", requires="--rules")
@cli.options_from("cranfield.campaign.check_run", "all=all_faults")
@cli.options_from(
    "cranfield.read_runs",
    "format encoding separator numbers system columns",
    requires="!--rules",
    format={"flag": "--input-format"},
    columns=cli.COLUMNS,
)
@cli.make_format_option(
    ("text", "json", "errlog"),
    help="Output format; errlog writes TAG.errlog beside each file, or into the folder --output.",
)
@cli.output_option
def check(
    files: tuple[str, ...],
    rules: str | None,
    task: str | None,
    tag: str | None,
    team: str | None,
    all_faults: bool,
    format: str,
    output: str | None,
    **reading: Any,
) -> int:
    """Check judgments and runs, and report every problem.

    FILE... is QRELS [RUN...]: judgments and runs. With --rules, FILE... are runs to submit to a
    campaign; `cranfield campaign run submit` also checks the type, priority, answers and time of a
    run, the number of runs, and whether another run has the same tag.

    Each problem is reported with file, line, message and code. Files with errors are refused; files
    with only warnings and notes are accepted. The exit status is 0 if all files are accepted, and 1
    if a file is refused. With --rules, the exit status is 2, and no file is written, if a run or
    the rules cannot be read.

    Parameters
    ----------
    rules
        Rules of the campaign whose runs are checked: a pack, the folder of the campaign, or a file
        rules.toml.

    Examples
    --------
    cranfield check qrels.txt runs/*.gz
    cranfield check qrels.txt bm25.run --all --format json -o problems.json
    cranfield check bm25.run --rules pack/
    cranfield check runs/*.gz --rules news-2026/ --task adhoc --format errlog -o logs/
    """
    if format == "errlog" and "-" in files and output is None:
        raise PolicyError("--format errlog of standard input requires --output FOLDER")
    reports: Sequence[cf.campaign.CheckReport]
    errors: list[InputError] = []
    if rules is not None:
        reports, errors = _check_by_rules(
            files, rules, task, tag=tag, team=team, all_faults=all_faults
        )
    elif "-" in files:
        raise PolicyError("standard input (-) requires --rules, as files are read twice without it")
    else:
        reading["format"] = reading.pop("input_format")
        checks = cf.check(files[0], files[1:], all_faults=all_faults, **reading)
        command = click.get_current_context().command
        reports = checks.map_messages(lambda text: cli.as_options(text, command)).files
    is_printed = format == "text" and output in {None, "-"}
    if errors and not is_printed:
        print(
            "cranfield: warning: nothing was written, as the following runs cannot be read",
            file=sys.stderr,
        )
    elif format == "errlog":
        _write_errlogs(reports, output, files)
    else:
        from cranfield.campaign.checks.report import format_reports_as_json

        text = "".join(f"{report}\n" for report in reports)
        cli.write(f"{format_reports_as_json(reports)}\n" if format == "json" else text, output)
    for error in errors:
        print(f"cranfield: error: {sanitise(str(error))}", file=sys.stderr)
    return 2 if errors else int(not all(report.is_accepted for report in reports))


def _check_by_rules(
    runs: Sequence[str], rules: str, task: str | None, *, tag: Any, **options: Any
) -> tuple[list[cf.campaign.CheckReport], list[InputError]]:
    """Check runs by the rules of a task; also return the errors of runs that cannot be read."""
    if tag is not None and len(runs) > 1:
        raise PolicyError(f"--tag requires a single run, got {len(runs)}")
    task_rules = cf.campaign.read_rules(rules).get_task(task)
    reports: list[cf.campaign.CheckReport] = []
    errors: list[InputError] = []
    for run in runs:
        try:
            reports.append(cf.campaign.check_run(run, task_rules, tag=tag, **options))
        except InputError as error:
            # Continue with the other runs, unless the rules cannot be read.
            if error.source not in {run, "standard input"}:
                raise
            errors.append(error)
    return reports, errors


def _write_errlogs(
    reports: Sequence[cf.campaign.CheckReport], folder: str | None, files: Sequence[str]
) -> None:
    """Write the logs; refuse two logs with the same file, or a log that overwrites a run."""
    from cranfield.campaign.checks.report import get_errlog_path, write_errlog

    if folder is not None and not Path(folder).is_dir():
        raise PolicyError(f"--output must be a folder for --format errlog, got {quote(folder)}")
    paths = [get_errlog_path(report) for report in reports]
    paths = paths if folder is None else [Path(folder) / path.name for path in paths]
    first_reports: dict[str, cf.campaign.CheckReport] = {}
    for path, report in zip(paths, reports, strict=True):
        # Some file systems ignore case.
        first_report = first_reports.setdefault(str(path).casefold(), report)
        if first_report is not report:
            raise PolicyError(
                f"the errors of {quote(first_report.source)} and {quote(report.source)} would be"
                f" written to the same file, {quote(path)}; use different --output folders"
            )
    cli.refuse_overwriting(map(str, paths), files)
    for path, report in zip(paths, reports, strict=True):
        write_errlog(report, path)
