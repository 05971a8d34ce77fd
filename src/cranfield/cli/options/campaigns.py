"""Options of commands on campaigns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.cli.options.declaring import INPUT_FILE, Decorator, option, with_options
from cranfield.cli.options.output import make_format_option, output_option, write
from cranfield.cli.options.signatures import make_options, parse_pairs

if TYPE_CHECKING:
    import polars as pl

CAMPAIGN = "cranfield.campaign"  # package whose functions declare the options of these commands

task_option, judgments_option = make_options(
    f"{CAMPAIGN}.results.scoring.score_runs", "task judgments"
)


def campaign_argument(function: Callable[..., int | None]) -> Any:
    """Add the argument FOLDER to a command, and pass the campaign to its function.

    If the function returns None, the exit status is 1 if a run could not be read.
    """

    @functools.wraps(function)
    def run_command(folder: str, **options: Any) -> int:
        campaign = cf.campaign.open(folder)
        status = function(campaign, **options)
        return int(bool(campaign.unreadable_runs)) if status is None else status

    return click.argument("folder", type=INPUT_FILE)(run_command)


def make_output_option(metavar: str, help: str) -> Decorator:
    """Make the required option of the file or folder that a command writes."""
    return option("--output", required=True, metavar=metavar, help=help)


reason_option = option("--reason", required=True, help="Reason, recorded in the log.")

listing_options = with_options((make_format_option(("text", "csv", "json")), output_option))


def write_listing(frame: pl.DataFrame, text: str, format: str, output: str | None) -> None:
    """Write a list as text, CSV or JSON."""
    if format == "csv":
        text = frame.write_csv()
    elif format == "json":
        text = frame.write_json() + "\n"
    write(text, output)


def parse_name_values(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> Mapping[str, str]:
    """Parse the values NAME=TEXT of an option, as a callback of click."""
    return parse_pairs(values, max(param.opts, key=len), param.make_metavar(ctx), allows_empty=True)
