"""Options of studies."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

import cranfield as cf
from cranfield.cli.options.declaring import Decorator, refuse_options, with_options
from cranfield.cli.options.judging import (
    DOCUMENT_OPTIONS,
    JUDGING_SETTINGS,
    ReadingOptions,
    judging_options,
)
from cranfield.cli.options.output import (
    ResultOutput,
    gather_options,
    make_result_options,
    show_progress_bar,
)
from cranfield.cli.options.signatures import make_options
from cranfield.result import ALL, Result, combine_results

if TYPE_CHECKING:
    from cranfield.meta.test_studies.fast_tests import TestChoice

StudyResult = TypeVar("StudyResult", bound=Result)

(missing_option,) = make_options(
    "cranfield.meta.stability", "missing", type=click.Choice(["error", "drop", "zero"])
)

testing_options = with_options(
    (
        *make_options("cranfield.compare", "alpha"),
        missing_option,
        *make_options("cranfield.meta.stability", "resamples"),
    )
)


def read_choices(tests: Iterable[str], options: Mapping[str, Any]) -> list[TestChoice]:
    """Parse tests such as `t+holm`, given the options of a command, before any file is read."""
    from cranfield.meta.test_studies.fast_tests import read_choice

    test_options = {name: options[name] for name in ("alpha", "missing", "resamples")}
    choices = [read_choice(test, **test_options) for test in tests]
    refuse_resamples(choices)
    return choices


def refuse_resamples(choices: Collection[TestChoice]) -> None:
    """Refuse --resamples if no test resamples."""
    if not any(choice.is_random for choice in choices):
        tests = ", ".join(choice.label for choice in choices)
        refuse_options(("resamples",), f"requires a test that resamples, got {tests}")


def refuse_judging_options_for_pools() -> None:
    """Refuse options of judging that studies of pools do not support."""
    refuse_options(
        ("unjudged",), "cannot be combined with studies of pools; set `lists` in --settings"
    )
    refuse_options(
        (*DOCUMENT_OPTIONS, "max_grade", "topics_with_grade"),
        "cannot be combined with studies of pools",
    )


@dataclass(frozen=True)
class StudyOptions:
    """Options that all studies share.

    Attributes
    ----------
    chart
        File to draw a chart of the study to (.svg, .png, .pdf, .html, .json); KIND=FILE for studies
        with several charts (cranfield plot --list).
    judging
        Options of reading, judging and parallel work.
    resume
        Folder to store finished parts of the study; a later call with the same folder resumes from
        these.
    """

    result_output: ResultOutput
    chart: str | None
    judging: Mapping[str, Any]
    seed: int = 0
    resume: str | None = None

    @cached_property
    def reading(self) -> ReadingOptions:
        return ReadingOptions.from_options(self.judging)

    def find_inputs(
        self, qrels: str | None, runs: tuple[str, ...] | cf.Runs
    ) -> tuple[cf.Runs, Any]:
        """Find the runs, which are read on first use, and read the judgments."""
        return self.reading.find_runs(qrels, runs), self.reading.read_qrels(qrels)

    def parse_measures(self, names: Iterable[str | cf.Measure]) -> list[cf.Measure]:
        return cf.parse_measures(names, rel=self.judging["rel"], compat=self.judging["compat"])

    def select_policies(self, *names: str) -> dict[str, Any]:
        return {name: self.judging[name] for name in names}

    def run_study(
        self,
        label: str,
        function: Callable[..., StudyResult],
        *data: Any,
        part: str | None = None,
        **options: Any,
    ) -> StudyResult:
        """Run a study with a progress bar; `part` is the name of its folder in --resume."""
        folder = self.resume
        if folder is not None and part is not None:
            folder = f"{folder}/{make_folder_name(part)}"
        with show_progress_bar(label) as progress:
            return function(
                *data,
                **options,
                jobs=self.judging.get("jobs") or 1,
                backend=self.judging.get("backend"),
                folder=folder,
                progress=progress,
            )

    def check_table(self, *kinds: type[Result], absent: Mapping[str, str] | None = None) -> None:
        """Refuse a table or a chart that the studies do not have, before any study is run."""
        if self.chart is not None:
            from cranfield.reporting.charts.registry import parse_chart_request

            parse_chart_request(self.chart, kinds)
        self.result_output.check((name for kind in kinds for name in kind.get_columns()), absent)

    def write_studies(self, *studies: Result, **options: Any) -> None:
        """Write the studies; `options` are those of :func:`cranfield.result.combine_results`."""
        draw = None
        if self.chart is not None:
            from cranfield.reporting.charts.registry import draw_study

            draw = functools.partial(draw_study, self.chart, studies)
        # Studies without the requested table are omitted.
        table = self.result_output.table
        results = [study for study in studies if table in (None, ALL, *study.frames())]
        self.result_output.write(combine_results(*results, **options), draw)


STUDY_SETTINGS = f"{JUDGING_SETTINGS} rel compat seed alpha missing resamples"
"""Options of studies that are set in the file of --settings, not by flags."""


def make_study_options(*, has_seed: bool = True, is_resumable: bool = True) -> Decorator:
    """Add the options of studies, and those of reading and judging, to a command.

    The command gets them as `options`, a :class:`StudyOptions`. `--jobs` applies to the judging of
    runs and to parts of the study. `--resume` is for commands with `is_resumable`.
    """
    options_class = f"{__name__}.StudyOptions"
    resume = make_options(options_class, "resume", group="Work", resume={"metavar": "DIR"})
    options = (
        *(make_options("cranfield.compare", "seed") if has_seed else ()),
        *(resume if is_resumable else ()),
        make_result_options(),
        *make_options(options_class, "plot=chart", group="Output"),
        gather_options(dict, "judging", (judging_options,)),
    )
    return gather_options(StudyOptions, "options", options)


def make_folder_name(text: str) -> str:
    """Convert a text to the name of a folder, such as `swaps-RBP-p-0.8-10`."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "scores"
