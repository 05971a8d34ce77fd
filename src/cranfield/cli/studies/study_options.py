"""Options that studies share: how they are repeated, where the work is done, what is written."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.judging import judging_options, one_of
from cranfield.cli.options.output import write
from cranfield.cli.options.progress import progress_bar

if TYPE_CHECKING:
    from cranfield.reporting.studies.as_text import StudyText

Command = TypeVar("Command", bound=Callable[..., Any])

# These modules take long to load, so their names are written out here.
BACKENDS = ("serial", "loky", "threading", "dask", "ray")
OUTPUTS = ("text", "markdown", "latex", "html", "csv", "json")

_WORK: tuple[Callable[[Any], Any], ...] = (
    one_of("--backend", BACKENDS, "Where --jobs run: by default processes of this machine."),
    click.option(
        "--resume",
        metavar="DIR",
        help="Keep finished parts here, and take those that are there already.",
    ),
)
_QUICK: tuple[Callable[[Any], Any], ...] = (
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of draws."),
    one_of("--format", OUTPUTS, "How to write the tables.", "text"),
    click.option("--table", metavar="NAME", help="One table of numbers only."),
    click.option("--output", "-o", help="File to write, whole or not at all."),
)


@dataclass(frozen=True)
class StudyOptions:
    """What a study was asked for besides its own options.

    Attributes
    ----------
    seed
        Of random numbers.
    backend, resume
        Where the work is done, and where finished parts are kept.
    format, table, output
        How, what and where to write.
    judging
        Options of reading and judging, with `jobs` and `rel`.
    """

    seed: int
    backend: str | None
    resume: str | None
    format: str
    table: str | None
    output: str | None
    judging: Mapping[str, Any]

    @contextmanager
    def work(self, what: str, part: str | None = None) -> Iterator[dict[str, Any]]:
        """Give what :func:`cranfield.meta.run_parts` wants to know, and show its progress.

        Parameters
        ----------
        what
            Shown beside the bar.
        part
            Name of the sub-folder, where a command does several studies.
        """
        folder = self.resume
        if folder is not None and part is not None:
            folder = str(Path(folder) / folder_name(part))
        with progress_bar(what) as progress:
            yield {
                "jobs": self.judging.get("jobs") or 1,
                "backend": self.backend,
                "folder": folder,
                "progress": progress,
            }

    def check_table(self, names: Iterable[str]) -> None:
        """Refuse a table that the study cannot have, before it is done."""
        from cranfield.reporting.studies.as_text import check_table

        if self.table is not None:
            check_table(self.table, names)

    def show(self, study: StudyText) -> None:
        """Write the study as it was asked for."""
        from cranfield.reporting.studies.as_text import written

        text = written(study, self.format, self.table)
        write(text, self.output)


def study_options(command: Command) -> Command:
    """Add the options of studies, and those of reading and judging, to a command.

    The command gets them together as `options`, which is :class:`StudyOptions`. There is one
    `--jobs` for runs that are judged and for parts of the study.
    """
    return _with_options(command, (_QUICK[0], *_WORK, *_QUICK[1:]))


def quick_study_options(command: Command) -> Command:
    """Add the same options but for those of long work: nothing to resume, and no backend."""
    return _with_options(command, _QUICK)


def _with_options(command: Command, added: Sequence[Callable[[Any], Any]]) -> Command:
    @functools.wraps(command)
    def collected(
        seed: int,
        format: str,
        table: str | None,
        output: str | None,
        backend: str | None = None,
        resume: str | None = None,
        **rest: Any,
    ) -> Any:
        judging = {name: rest.pop(name) for name in JUDGING}
        options = StudyOptions(seed, backend, resume, format, table, output, judging)
        return command(options=options, **rest)

    wrapped: Any = judging_options(collected)
    for option in reversed(added):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def _names_of(decorate: Callable[[Callable[..., Any]], Any]) -> tuple[str, ...]:
    """Return the names of the parameters that a decorator adds."""

    def nothing() -> None: ...

    decorate(nothing)
    return tuple(one.name for one in nothing.__click_params__)  # type: ignore[attr-defined]


JUDGING = _names_of(judging_options)
"""Parameters of reading and judging."""


def folder_name(text: str) -> str:
    """Make the name of a folder out of any text.

    Examples
    --------
    >>> folder_name("swaps RBP(p=0.8)@10")
    'swaps-RBP-p-0.8-10'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "scores"


def whole_numbers(text: str, option: str, least: int = 1) -> list[int]:
    """Read whole numbers with commas between them.

    Examples
    --------
    >>> whole_numbers("5,10", "--sizes")
    [5, 10]
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < least:
        raise PolicyError(
            f"{option} takes whole numbers from {least}, such as 5,10,20, not {text!r}"
        )
    return found
