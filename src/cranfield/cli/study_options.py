"""Options of studies."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.cli.options.declaring import WRITTEN, in_group, option, refuse_given
from cranfield.cli.options.judging import JUDGING_SETTINGS, judging_options
from cranfield.cli.options.output import (
    ResultOutput,
    progress_bar,
    result_options,
    with_options,
)
from cranfield.cli.options.signatures import options_of
from cranfield.result import ALL, Result, together

if TYPE_CHECKING:
    from cranfield.meta.test_studies.fast_tests import TestChoice
    from cranfield.meta.work import Work


Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def refuse_resamples(choices: Collection[TestChoice]) -> None:
    """Refuse --resamples where no test draws samples."""
    if not any(one.draws for one in choices):
        tests = ", ".join(one.label for one in choices)
        refuse_given(("resamples",), f"requires a test that resamples, got {tests}")


(missing_option,) = options_of(
    "cranfield.meta.stability", "missing", type=click.Choice(["error", "drop", "zero"])
)

tested_options = with_options(
    (
        *options_of("cranfield.compare", "alpha"),
        missing_option,
        *options_of("cranfield.meta.stability", "resamples"),
    )
)
"""How studies compare the systems of each sample."""


_SEED = option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random numbers.",
)
_WORK = in_group(
    "Work",
    (
        option(
            "--resume",
            metavar="DIR",
            help="Folder for finished parts of the study; a later call resumes from them.",
        ),
    ),
)
_PLOT = option(
    "--plot",
    "chart",
    help="File to draw a chart of the study to (.svg, .png, .pdf, .html, .json); KIND=FILE for"
    " studies with several charts (cranfield plot --list).",
    type=WRITTEN,
    group="Output",
)


@dataclass(frozen=True)
class StudyOptions:
    """Options of a study besides its own: judging, output and format.

    Its `judging` are options of reading and judging, with `jobs` and `rel`.
    """

    seed: int
    resume: str | None
    written: ResultOutput
    chart: str | None
    judging: Mapping[str, Any]

    @contextmanager
    def work(self, what: str, part: str | None = None) -> Iterator[Work]:
        """Show the progress of a study; a command that does several has a sub-folder for each."""
        folder = self.resume
        if folder is not None and part is not None:
            folder = f"{folder}/{folder_name(part)}"
        with progress_bar(what) as progress:
            yield {
                "jobs": self.judging.get("jobs") or 1,
                "backend": self.judging.get("backend"),
                "folder": folder,
                "progress": progress,
            }

    def check_table(self, *kinds: type[Result], without: Iterable[str] = ()) -> None:
        """Refuse a table or a chart that the studies cannot have, before they are done."""
        if self.chart is not None:
            from cranfield.reporting.charts.registry import chart_to_draw

            chart_to_draw(self.chart, kinds)
        lacking = set(without)
        names = (name for kind in kinds for name in kind.declared())
        self.written.check(name for name in names if name not in lacking)

    def show(self, *studies: Result, **options: Any) -> None:
        """Write the studies in the requested form; see :func:`cranfield.result.together`."""
        draw = None
        if self.chart is not None:
            from cranfield.reporting.charts.registry import draw_study

            draw = functools.partial(draw_study, self.chart, studies)
        # With one table there is nothing to say of studies that do not have it.
        table = self.written.table
        shown = [study for study in studies if table in (None, ALL, *study.frames())]
        self.written.write(together(*shown, **options), draw)


STUDY_SETTINGS = f"{JUDGING_SETTINGS} rel compat seed alpha missing resamples"
"""Options that studies take from a file of settings, as far as they have them."""


def study_options(*, seed: bool = True, work: bool = True) -> Callable[[Command], Command]:
    """Add the options of studies, and those of reading and judging, to a command.

    The command gets them together as `options`, which is :class:`StudyOptions`. There is one
    `--jobs` for runs that are judged and for parts of the study.
    """
    added = ((_SEED,) if seed else ()) + (_WORK if work else ())
    added += (result_options(), _PLOT)

    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def collected(
            written: ResultOutput,
            chart: str | None,
            seed: int = 0,
            resume: str | None = None,
            **rest: Any,
        ) -> Any:
            judging = {name: rest.pop(name) for name in JUDGING}
            options = StudyOptions(seed, resume, written, chart, judging)
            return command(options=options, **rest)

        wrapped: Any = judging_options(collected)
        for each in reversed(added):
            wrapped = each(wrapped)
        return wrapped  # type: ignore[no-any-return]

    return with_options


def _names_of(decorate: Decorator) -> tuple[str, ...]:
    """Return the names of the parameters that a decorator adds."""

    def nothing() -> None: ...

    decorate(nothing)
    return tuple(one.name for one in nothing.__click_params__)  # type: ignore[attr-defined]


JUDGING = _names_of(judging_options)
"""Parameters of reading and judging."""


def folder_name(text: str) -> str:
    """Make the name of a folder out of any text, such as `swaps-RBP-p-0.8-10`."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "scores"
