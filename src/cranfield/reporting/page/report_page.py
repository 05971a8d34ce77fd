"""The report: one page of HTML that opens without a network."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.assess.judges.kin import KinBias
from cranfield.assess.judges.rankings import JudgeRankings
from cranfield.base.arrays import best_first
from cranfield.base.errors import PolicyError, check_several, quoted
from cranfield.base.files import whole_file
from cranfield.base.text import capitalised, counted
from cranfield.reporting.page import sections
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.data import json_text, page_data
from cranfield.reporting.page.html import (
    Html,
    asset,
    el,
    filled,
    joined,
    label,
    sections_of,
    text,
    whole_page,
)
from cranfield.reporting.page.sections import (
    Rows,
    listed_items,
    of_measure,
    paragraphs,
    shown_table,
    table,
)
from cranfield.significance.comparison.result import RESCALING, PairwiseComparison
from cranfield.significance.models.assumptions import Assumptions
from cranfield.tabular import as_cell, shown_p


def analysis(contents: Contents) -> Html:
    return joined(*(of_measure(k, *_of(part)) for k, part in enumerate(contents.parts)))


def _of(part: Part) -> list[object]:
    title = el("h3", label(part.name))
    comparison = part.comparison
    if comparison is None:
        return [title, el("p", f"Not compared: {part.refused}.")]
    pieces: list[object] = [title, *paragraphs(sections.method(comparison))]
    if (anova := comparison.anova) is not None:
        caption = f"Analysis of variance: {anova.model}"
        pieces.append(shown_table(anova.tables()[0], caption, look="narrow", names=()))
        lines = [*anova.notes, *anova.heading()[1:]]
        pieces += paragraphs(f"{capitalised(line)}." for line in lines)
    if part.assumptions is not None:
        pieces += _assumptions(part.assumptions)
    notes = [f"{capitalised(note)}." for note in comparison.notes if not note.endswith(RESCALING)]
    if notes:
        pieces += [el("h4", "Notes"), listed_items(notes)]
    return [*pieces, _intervals(comparison)]


def _assumptions(assumptions: Assumptions) -> list[object]:
    rows: Rows = [
        [
            check.assumption,
            check.test,
            f"{check.statistic:.4f}",
            shown_p(check.pvalue),
            "yes" if check.pvalue <= assumptions.alpha else "no",
        ]
        for check in assumptions.checks
    ]
    if not rows:
        notes = [note for note in assumptions.notes if not note.startswith("No test speaks")]
        return [listed_items(["None of the tests of the assumptions could be done.", *notes])]
    head = ["assumption", "test", "statistic", "p", "rejected"]
    made = table("Checks of the assumptions", head, rows, left=(0, 1, 4), name="narrow")
    return [made, listed_items(assumptions.notes)]


def _intervals(one: PairwiseComparison) -> Html:
    """Return all pairs, or the ranking with its intervals and groups."""
    shown = one.as_table()
    if one.shows_pairs:
        rows = [[*row[:-1], "yes" if as_cell(row[-1]).text else "no"] for row in shown.rows]
        shown = replace(shown, head=[*shown.head[:-1], "differs"], rows=rows)
        made = shown_table(shown, "Pairs", look="tall", names=(0, 1))
        title = "All pairs in numbers"
    else:
        made = shown_table(shown, "Means, intervals and groups", look="narrow tall")
        title = "Intervals and groups of all systems in numbers"
    return el("details", el("summary", title), made)


KINDS = (JudgeComparison, JudgeRankings, KinBias)
"""Results about judges that a page can show."""


def read_judged(results: Any) -> tuple[Any, ...]:
    """Return one result about judges, or several, as a tuple."""
    several = isinstance(results, Iterable) and not isinstance(results, (str, bytes))
    judged = () if results is None else tuple(results) if several else (results,)
    for result in judged:
        if not isinstance(result, KINDS):
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise PolicyError(
                f"judges: expected results of cranfield.assess ({kinds}), got {result!r:.60}"
            )
    return judged


def judges(contents: Contents) -> Html:
    if not contents.judges:
        return Html()
    pieces: list[object] = []
    for result in contents.judges:
        if isinstance(result, JudgeComparison):
            pieces.append(el("p", _best_judge(result), class_="lead"))
        for shown in result.tables():
            pieces.append(shown_table(shown, look="tall"))
            pieces += paragraphs((f"{capitalised(note)}." for note in shown.notes), class_="small")
    notes = dict.fromkeys(note for result in contents.judges for note in result.notes)
    pieces += paragraphs((f"Note: {note}." for note in notes), class_="small")
    return sections_of({"judges": ("Judges beside people", joined(*pieces))})


def _best_judge(result: JudgeComparison) -> str:
    column = result.statistics.index("alpha")
    best = int(best_first(result.values[:, column])[0])
    alpha, low, high = (values[best, column] for values in (result.values, result.low, result.high))
    sizes = f"{counted(len(result.judges), 'judge')} on {counted(len(result.topics), 'topic')}"
    if np.isnan(alpha):
        return f"Of {sizes}, none has a defined agreement with people."
    level = f"{100 * result.confidence:g}%"
    interval = "" if np.isnan(low) else f" ({level}: {low:.3f} to {high:.3f})"
    return (
        f"Of {sizes}, {label(result.judges[best])} agrees best with people: Krippendorff's alpha"
        f" {alpha:.3f}{interval}."
    )


SCRIPTS = (
    "numbers.js",
    "systems.js",
    "pair.js",
    "kit.js",
    "keeping.js",
    "ranked.js",
    "map.js",
    "matrix.js",
    "boxes.js",
    "ranks.js",
    "tau.js",
    "topics.js",
    "page.js",
)
"""Parts of the script, in order; together they are one function."""


def page(contents: Contents) -> str:
    """Return the page, which needs no other file and no network, and allows only its own script."""
    code = script()
    pieces = {
        "title": text(contents.title),
        "counts": text(sections.counts(contents)),
        "warned": sections.warned(contents),
        "script": Html(code),
        "options": sections.measure_options(contents),
        "evaluated": sections.evaluated(contents),
        "answers": sections.answers(contents),
        "systems": sections.systems(contents),
        "analysis": analysis(contents),
        "scales": sections.scales(contents),
        "judges": judges(contents),
        "judges_link": Html('<li><a href="#judges">Judges</a></li>\n' if contents.judges else ""),
        "settings": sections.settings(contents),
        "data": Html(json_text(page_data(contents))),
    }
    style = asset("page.css") + asset("pictures.css")
    return whole_page(contents.title, filled("page.html", pieces), style=style, scripts=[code])


def script() -> str:
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


TITLE = "Evaluation report"

OTHER = {
    *(".csv", ".docx", ".ipynb", ".json", ".md", ".parquet", ".pdf"),
    *(".png", ".svg", ".tex", ".tsv", ".txt"),
}
"""Suffixes that are refused: they are those of other formats."""


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
    """Write a report: one HTML file that works offline, and can be shared or printed.

    The report states what was evaluated and which systems differ significantly, with confidence
    intervals. Readers can sort and filter systems and compare any pair topic by topic. It ends with
    all settings. Its numbers are those of the results, to the bit.

    Parameters
    ----------
    results
        An :class:`Evaluation`; scores, comparisons of the same systems, or meanings, one or
        several in a list or mapping; anything that :func:`compare` takes; or an
        :class:`~cranfield.online.ExperimentReport`, which has its own page and takes no options
        of comparisons.
    path
        The file to write; nothing is written if the report fails.
    title
        Heading of the page.
    baseline, test, correction, statistic, alternative, alpha, missing
        Options of :func:`compare`, for scores that are not compared yet; None is its default.
    exact, threshold, resamples, seed
        Further options of :func:`compare`.
    scales
        Whether measures with a cutoff are also compared by their interval-scaled versions, where
        that is fast: up to cutoff 100 for P, R, DCG, nDCG, RBP and RR, else 20.
    judges
        Results of :func:`cranfield.assess.compare_judges`,
        :func:`cranfield.assess.judge_rankings` or :func:`cranfield.assess.kin_bias`, one or a list;
        they get a section of their own.
    inputs
        Input files, which the page lists with their SHA-256. By default it lists none.
    command
        The command that reproduces the page, as text or as a list of arguments.
    date
        A date to show. By default there is none, so that the same input gives the same bytes.
    jobs
        Number of threads; results do not depend on it.

    Raises
    ------
    PolicyError
        For unknown options, an invalid path, input or command, or options of :func:`compare` if
        the results are comparisons already.
    CranfieldError
        If there are no scores, or the measures are of different systems.
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
    check_several("inputs", inputs)
    from cranfield.reporting.page.contents import collect
    from cranfield.reporting.page.experiment_page import experiment_page
    from cranfield.reporting.page.sections import hashed

    target = Path(_named(path, "the page"))
    if target.suffix.lower() in OTHER:
        raise PolicyError(
            f"the report is HTML; expected a name that ends in .html, got {quoted(fspath(path))}"
        )
    if isinstance(inputs, PathLike):
        inputs = [inputs]
    if not isinstance(inputs, Iterable):
        raise PolicyError(f"inputs must be a list of paths, got {type(inputs).__name__}")
    files = hashed([_named(one, "each of inputs") for one in inputs])
    shown = _command(command)
    judged = () if judges is None else read_judged(judges)
    options: dict[str, Any] = {
        "baseline": baseline,
        "test": test,
        "correction": correction,
        "statistic": statistic,
        "alternative": alternative,
        "alpha": alpha,
        "missing": missing,
        "exact": exact,
        "threshold": threshold,
        "resamples": resamples,
        "seed": seed,
    }
    if _is_experiment(results):
        for name, value in {**options, "judges": judges}.items():
            if value is not None:
                raise PolicyError(
                    f"{name} cannot be combined with an experiment: it is analysed already"
                )
        heading = "Experiment report" if title == TITLE else title
        text = experiment_page(results, heading, inputs=files, command=shown, date=date)
    else:
        contents = collect(results, title=title, scales=scales, jobs=jobs, **options)
        text = page(replace(contents, inputs=files, command=shown, date=date, judges=judged))
    with whole_file(target) as out:
        out.write(text.encode())
    return target


def _is_experiment(results: Any) -> bool:
    """Return True for an experiment, without the slow import of its class if it is not loaded."""
    loaded = sys.modules.get("cranfield.online.experiments.report")
    return loaded is not None and isinstance(results, loaded.ExperimentReport)


def _named(path: Any, what: str) -> str:
    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise PolicyError(f"{what} must be the path of a file, got {type(path).__name__}")
    return name


def _command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    if isinstance(command, Sequence) and all(isinstance(one, str) for one in command):
        return shlex.join(command)
    raise PolicyError("command must be text, or a list of its arguments as text")
