"""`cranfield campaign check`: what is wrong with runs, all of it at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.cli.campaign.arguments import form_option, task_option
from cranfield.cli.options.declaring import READ, WRITTEN, command, keep_inputs, option
from cranfield.cli.options.output import write

if TYPE_CHECKING:
    from cranfield.campaign.checks.report import CheckReport

EPILOG = """\b
Examples:
  cranfield campaign check bm25.run --rules pack/
  cranfield campaign check runs/*.gz --rules news-2026/ --task adhoc
  cranfield campaign check bm25.run --rules rules.toml --tag bm25 --format json -o report.json
"""


@command(epilog=EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@option(
    "--rules",
    required=True,
    metavar="PATH",
    help="A pack, a campaign's folder, or a rules.toml.",
    type=READ,
)
@task_option
@option("--tag", metavar="TAG", help="The tag that the run should have.")
@option("--team", metavar="ID", help="The team's id, which no tag may be.")
@form_option(("text", "json", "errlog"))
@option("--all", "all_faults", is_flag=True, help="Say each fault, not 25 of a kind.")
@option("--output", metavar="PATH", help="File to write, or with errlog the folder.", type=WRITTEN)
def check(
    runs: tuple[str, ...],
    rules: str,
    task: str | None,
    tag: str | None,
    team: str | None,
    form: str,
    all_faults: bool,
    output: str | None,
) -> int:
    """Check runs by the rules, before they are handed in.

    Says all that is wrong, with the lines. The exit status is 0 where all runs are accepted, 1
    where one is refused, 2 where a run or the rules cannot be read; then no file is written. What
    only the organisers know is not checked: whether a tag is taken, limits and times. A format of
    errlog writes a file TAG.errlog for each run.
    """
    from cranfield.campaign.checks.checking import check_run
    from cranfield.campaign.checks.writing import as_json
    from cranfield.campaign.rules.reading import read_rules

    if tag is not None and len(runs) > 1:
        raise PolicyError(f"--tag is for one run; there are {len(runs)}")
    if form == "errlog" and "-" in runs and output is None:
        raise PolicyError("--format errlog of standard input needs --output FOLDER")
    asked = read_rules(rules).task(task)
    reports: list[CheckReport] = []
    for run in runs:
        try:
            report = check_run(run, asked, tag=tag, team=team, all_faults=all_faults)
        except InputError as error:
            # The others are still of interest, but not where it is the rules that are unreadable.
            if error.source not in {run, "standard input"}:
                raise
            print(f"cranfield: error: {plain(str(error))}", file=sys.stderr)
            continue
        reports.append(report)
        if form == "text" and output in {None, "-"}:
            print(report)
    if len(reports) < len(runs):
        if form != "text" or output not in {None, "-"}:
            print(
                "cranfield: warning: nothing is written, as not all runs are read", file=sys.stderr
            )
        return 2
    if form == "errlog":
        _write_errlogs(reports, output, runs)
    elif form == "json":
        write(f"{as_json(reports)}\n", output)
    elif output not in {None, "-"}:
        write("".join(f"{report}\n" for report in reports), output)
    return 0 if all(report.accepted for report in reports) else 1


def _write_errlogs(reports: list[CheckReport], folder: str | None, runs: tuple[str, ...]) -> None:
    """Write the logs, unless two of them would be one file, or one a run."""
    from cranfield.campaign.checks.writing import errlog_of, write_errlog

    if folder is not None and not Path(folder).is_dir():
        raise PolicyError(f"--output {quoted(folder)} is no folder, which errlog needs")
    paths = [errlog_of(report) for report in reports]
    if folder is not None:
        paths = [Path(folder) / path.name for path in paths]
    first: dict[str, CheckReport] = {}
    for path, report in zip(paths, reports, strict=True):
        # Disks that take capital letters for small ones would have one file, too.
        other = first.setdefault(str(path).casefold(), report)
        if other is not report:
            raise PolicyError(
                f"{quoted(other.source)} and {quoted(report.source)} have the same log,"
                f" {quoted(path)}"
            )
    keep_inputs([str(path) for path in paths], runs)
    for path, report in zip(paths, reports, strict=True):
        write_errlog(report, path)
