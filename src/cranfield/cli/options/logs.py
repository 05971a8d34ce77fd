"""Options that commands share which read query logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.declaring import READ, in_group, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import gathered

if TYPE_CHECKING:
    from cranfield.online import QueryLog

LOG_FORMATS = ("auto", "tables", "flat", "sessions", "ubi", "living-labs", "yandex", "pyclick")
"""The forms of logs, as :func:`cranfield.online.read_log` has them."""

ODD = ("refuse", "count")

logs_argument = click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=READ)
"""One log; or its pages and clicks; or its pages, results and clicks."""


@dataclass(frozen=True)
class LogOptions:
    """How a log is read."""

    log_format: str
    odd: str
    max_queries: int | None
    session_timeout: str | None

    def read(self, files: tuple[str, ...]) -> QueryLog:
        """Read a log of one file or folder, of pages and clicks, or of the three tables."""
        from cranfield import online

        if len(files) > 3:
            raise PolicyError("a log is one file, PAGES CLICKS, or PAGES RESULTS CLICKS")
        if files.count("-") > 1:
            raise PolicyError("standard input cannot be two files")
        log = online.read_log(
            files[0],
            files[1] if len(files) == 3 else None,
            files[-1] if len(files) > 1 else None,
            format=self.log_format,
            odd=self.odd,
            max_queries=self.max_queries,
        )
        if self.session_timeout is not None:
            log = online.sessionise(log, self.session_timeout)
        return log


log_options = gathered(
    LogOptions,
    "reading",
    in_group(
        "Log",
        (
            one_of("--log-format", LOG_FORMATS, "Form of the log.", "auto"),
            one_of("--odd", ODD, "Pages or results twice, clicks before their page.", "refuse"),
            option(
                "--max-queries",
                type=click.IntRange(1),
                metavar="N",
                help="Leave out users with more pages: robots.",
            ),
            option(
                "--session-timeout",
                metavar="TIME",
                help="Cut sessions where a user did nothing for so long, such as 30m.",
            ),
        ),
    ),
)
"""The options of reading; the command gets them as `reading`."""
