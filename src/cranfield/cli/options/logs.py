"""Options that commands share which read query logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
"""One log; or its pages, and results or clicks; or its pages, results and clicks."""

_READ = ("LOG", "--measure")
"""Where a log is read: an experiment may be of a table of units instead."""

_NAMED = ("results", "clicks")
_FORMS = "a log is one file; or PAGES RESULTS CLICKS; or PAGES and results=FILE or clicks=FILE"


@dataclass(frozen=True)
class LogOptions:
    """How a log is read."""

    log_format: str
    odd: str
    max_queries: int | None
    session_timeout: str | None
    click_actions: str | None

    def read(self, files: tuple[str, ...]) -> QueryLog:
        """Read a log of one file or folder, of pages and one more table, or of the three."""
        from cranfield import online
        from cranfield.online.log.reading import read_pages_and

        named = {
            name: path
            for name, sign, path in (one.partition("=") for one in files)
            if sign and name in _NAMED
        }
        plain = [one for one in files if one.partition("=")[0] not in named]
        if len(plain) not in ({1} if named else {1, 2, 3}) or len(plain) + len(named) < len(files):
            raise PolicyError(_FORMS)
        if [*plain, *named.values()].count("-") > 1:
            raise PolicyError("standard input cannot be two files")
        how: dict[str, Any] = {
            **named,
            "format": self.log_format,
            "odd": self.odd,
            "max_queries": self.max_queries,
        }
        if self.click_actions is not None:
            how["click_actions"] = [name.strip() for name in self.click_actions.split(",")]
        if len(plain) == 2:
            log = read_pages_and(plain[0], plain[1], **how)
        else:
            log = online.read_log(plain[0], *plain[1:], **how)
        if self.session_timeout is not None:
            log = online.sessionise(log, self.session_timeout)
        return log


log_options = gathered(
    LogOptions,
    "reading",
    in_group(
        "Log",
        (
            one_of("--log-format", LOG_FORMATS, "Form of the log.", "auto", goes_with=_READ),
            one_of(
                "--odd",
                ODD,
                "Pages or results twice, clicks before their page.",
                "refuse",
                goes_with=_READ,
            ),
            option(
                "--max-queries",
                type=click.IntRange(1),
                metavar="N",
                help="Leave out users with more pages: robots.",
                goes_with=_READ,
            ),
            option(
                "--session-timeout",
                metavar="TIME",
                help="Cut sessions where a user did nothing for so long, such as 30m.",
                goes_with=_READ,
            ),
            option(
                "--click-actions",
                metavar="NAMES",
                help="Names of the UBI actions that are clicks, such as item_click,product_click.",
                goes_with=_READ,
            ),
        ),
    ),
)
"""The options of reading; the command gets them as `reading`."""
