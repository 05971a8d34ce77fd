"""Evaluation reports: a single HTML page that works offline."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from cranfield.assess.judges.bias import SelfPreference
from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.assess.judges.rankings import JudgeRankings
from cranfield.base.errors import PolicyError, check_list, quote
from cranfield.base.files import open_atomically
from cranfield.collection.policies import CHOICES, NUMBER_EFFECTS
from cranfield.reporting.charts.saving import ScriptEncoder
from cranfield.reporting.page import sections
from cranfield.reporting.page.contents import PageContents, collect_contents
from cranfield.reporting.page.data import collect_data
from cranfield.reporting.page.html import Html, assemble_page, fill_template, read_asset
from cranfield.reporting.page.intervals import draw_systems, draw_two_systems
from cranfield.significance.registry import CORRECTIONS
from cranfield.tabular import format_pvalue

JUDGE_RESULTS = (JudgeComparison, JudgeRankings, SelfPreference)


def check_judges(results: Any) -> tuple[Any, ...]:
    """Check one or several results about judges and return them as a tuple."""
    is_list = isinstance(results, Iterable) and not isinstance(results, (str, bytes))
    judge_results = () if results is None else tuple(results) if is_list else (results,)
    for result in judge_results:
        if not isinstance(result, JUDGE_RESULTS):
            kinds = ", ".join(kind.__name__ for kind in JUDGE_RESULTS)
            raise PolicyError(
                f"judges must be results of cranfield.assess ({kinds}), got {result!r:.60}"
            )
    return judge_results


SCRIPTS = "numbers systems pair kit saving ranked map matrix boxes ranks tau topics page"


def render_page(contents: PageContents) -> str:
    """Return the HTML of the page, which loads no resources and allows only its own script."""
    parts = contents.parts
    scripts = "\n".join(read_asset(f"{name}.js") for name in SCRIPTS.split())
    code = f'(() => {{\n"use strict";\n{scripts}}})();\n'
    has_pair_view = len(contents.systems) == 2 and any(
        part.comparison is not None for part in parts
    )
    data = collect_data(contents)
    json_data = json.dumps(data, allow_nan=False, separators=(",", ":"), cls=ScriptEncoder)
    body = fill_template(
        "page.html",
        contents=contents,
        parts=parts,
        has_pair_view=has_pair_view,
        sections=sections,
        effects=CHOICES,
        effects_of_numbers=NUMBER_EFFECTS,
        corrections=CORRECTIONS,
        format_pvalue=format_pvalue,
        figure_of_two=draw_two_systems(contents) if has_pair_view else None,
        figures=[None if has_pair_view else draw_systems(part) for part in parts],
        data=Html(json_data),
        script=Html(code),
    )
    style = read_asset("page.css") + read_asset("figures.css")
    return assemble_page(contents.title, body, style=style, scripts=[code])


TITLE = "Evaluation report"

OTHER_SUFFIXES = {
    *(".csv", ".docx", ".ipynb", ".json", ".md", ".parquet", ".pdf"),
    *(".png", ".svg", ".tex", ".tsv", ".txt"),
}
"""Suffixes of other formats, which the path of a report must not have."""

COMPARE_OPTIONS = (
    *("baseline", "test", "correction", "statistic", "alternative", "alpha", "missing", "exact"),
    *("threshold", "resamples", "seed"),
)
"""Options of :func:`cranfield.compare` that a report passes on."""


def report(
    results: Any,
    path: str | PathLike[str],
    *,
    title: str = TITLE,
    baseline: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str | None = None,
    statistic: str | None = None,
    alternative: str | None = None,
    alpha: float | None = None,
    missing: str | None = None,
    exact: bool | None = None,
    threshold: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    scales: bool = True,
    judges: Any = None,
    inputs: Iterable[str | PathLike[str]] = (),
    command: str | Sequence[str] | None = None,
    date: str | None = None,
    jobs: int | None = None,
) -> Path:
    """Write a report: a single HTML file that works offline, and can be shared or printed.

    The report describes the evaluation and the systems that differ significantly, with confidence
    intervals. Readers can sort and filter systems and compare any pair topic by topic. The report
    ends with all settings. Its numbers are identical to those of the results.

    Parameters
    ----------
    results
        An :class:`Evaluation`; or any input of :func:`compare`: scores, comparisons of the same
        systems, or statements of :func:`meaningfulness`, several of them in a list or mapping; or
        an :class:`~cranfield.online.ExperimentReport`, which has its own page and cannot be
        combined with options of comparisons.
    path
        The file to write; nothing is written if the report fails.
    title
        Heading of the page.
    baseline, test, correction, statistic, alternative, alpha, missing
        Options of :func:`compare` for scores that are not yet compared; None selects the default.
    exact, threshold, resamples, seed
        Further options of :func:`compare`.
    scales
        Whether to compare systems also by the interval-scaled versions of measures with a cutoff up
        to 20; up to 100 for P, R, F, gP, gR, Success, DCG, nDCG, RBP and RR, which are fast.
    judges
        Results of :func:`cranfield.assess.compare_judges`,
        :func:`cranfield.assess.judge_rankings` or :func:`cranfield.assess.self_preference`, one or
        several in a list, for a separate section.
    inputs
        Input files, which the page lists with their SHA-256; by default no files are listed.
    command
        The command that reproduces the page, as text or as a list of arguments.
    date
        Date of the report. By default there is no date, so that the same input gives the same
        bytes.
    jobs
        Number of threads; results do not depend on it.

    Raises
    ------
    PolicyError
        For unknown options, an invalid path, input or command, or options of :func:`compare`
        together with results that are already comparisons.
    CranfieldError
        If there are no scores, or measures have different systems.
    InputError
        If a file cannot be read or written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@10", "P@10"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> cf.report(ev, path, title="TREC-COVID round 5").read_text()[:15]
    '<!doctype html>'
    """
    arguments = locals()
    options = {name: arguments[name] for name in COMPARE_OPTIONS}
    check_list("inputs", inputs)
    from cranfield.online.experiments.report import ExperimentReport
    from cranfield.reporting.page.experiment_page import render_experiment

    target = Path(_check_path(path, "path"))
    if target.suffix.lower() in OTHER_SUFFIXES:
        raise PolicyError(
            f"expected a path that ends in .html, as the report is HTML, got {quote(fspath(path))}"
        )
    if isinstance(inputs, PathLike):
        inputs = [inputs]
    if not isinstance(inputs, Iterable):
        raise PolicyError(f"inputs must be a list of paths, got {type(inputs).__name__}")
    files = sections.hash_files([_check_path(item, "inputs", "paths of files") for item in inputs])
    command_text = _format_command(command)
    judge_results = check_judges(judges)
    if isinstance(results, ExperimentReport):
        for name, value in {**options, "judges": judges}.items():
            if value is not None:
                raise PolicyError(
                    f"{name} cannot be combined with an experiment, which is already analysed"
                )
        heading = "Experiment report" if title == TITLE else title
        text = render_experiment(results, heading, inputs=files, command=command_text, date=date)
    else:
        contents = collect_contents(results, title=title, scales=scales, jobs=jobs, **options)
        contents = replace(contents, inputs=files, command=command_text, date=date)
        text = render_page(replace(contents, judges=judge_results))
    with open_atomically(target) as out:
        out.write(text.encode())
    return target


def _check_path(path: Any, argument: str, expected: str = "the path of a file") -> str:
    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise PolicyError(f"{argument} must be {expected}, got {type(path).__name__}")
    return name


def _format_command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    if isinstance(command, Sequence) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    raise PolicyError(
        f"command must be a string or a list of strings, got {type(command).__name__}"
    )
