"""What commands of campaigns have in common: the folder, the task, the judgments, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

folder_argument = click.argument("folder")
"""The campaign's folder, which all commands name first."""

task_option = click.option(
    "--task", metavar="NAME", help="The task; where there is only one, it needs no name."
)
judgments_option = click.option(
    "--judgments", metavar="VERSION", help="Version of the judgments; by default the newest."
)


def form_option(forms: Iterable[str], default: str = "text") -> Callable[[Any], Any]:
    """Make the option of the format that a command writes."""
    return click.option(
        "--format",
        "-f",
        "form",
        type=click.Choice(list(forms)),
        default=default,
        show_default=True,
        help="How to write it.",
    )


def output_folder(help: str) -> Callable[[Any], Any]:
    """Make the option of the folder that a command writes, which it needs."""
    return click.option("--output", "-o", required=True, metavar="FOLDER", help=help)
