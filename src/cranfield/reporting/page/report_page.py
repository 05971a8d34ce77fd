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
    named,
    text,
    whole_page,
)
from cranfield.reporting.page.sections import (
    Rows,
    answers,
    evaluated,
    measure_options,
    of_measure,
    scales,
    settings,
    systems,
    table,
    warned,
)
from cranfield.significance.comparison.result import RESCALING, PairwiseComparison
from cranfield.significance.models.assumptions import Assumptions
from cranfield.tabular import Cell, as_cell, shown_p


def analysis(contents: Contents) -> Html:
    return joined(*(of_measure(k, *_of(part)) for k, part in enumerate(contents.parts)))


def _of(part: Part) -> list[object]:
    title = el("h3", label(part.name))
    comparison = part.comparison
    if comparison is None:
        return [title, el("p", f"Not compared: {part.refused}.")]
    pieces: list[object] = [title, *(el("p", line) for line in sections.method(comparison))]
    if (anova := comparison.anova) is not None:
        head = ["source", "SS", "DF", "MS", "F", "p", "ω²", "effect"]
        rows = [_texts(row) for row in anova.tables()[0].rows]
        caption = f"Analysis of variance: {anova.model}"
        pieces.append(table(caption, head, rows, left=(0, 7), name="narrow"))
        lines = [*anova.notes, *anova.heading()[1:]]
        pieces += [el("p", f"{capitalised(line)}.") for line in lines]
    if part.assumptions is not None:
        pieces += _assumptions(part.assumptions)
    notes = [note for note in comparison.notes if not note.endswith(RESCALING)]
    if notes:
        items = (el("li", f"{capitalised(note)}.") for note in notes)
        pieces += [el("h4", "Notes"), el("ul", *items)]
    pieces.append(_intervals(comparison))
    return pieces


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
    notes = assumptions.notes
    if not rows:
        notes = [note for note in notes if not note.startswith("No test speaks")]
        notes.insert(0, "None of the tests of the assumptions could be done.")
    items = el("ul", *(el("li", note) for note in notes))
    head = ["assumption", "test", "statistic", "p", "rejected"]
    caption = "Checks of the assumptions"
    return [table(caption, head, rows, left=(0, 1, 4), name="narrow") if rows else None, items]


def _intervals(one: PairwiseComparison) -> Html:
    """Return all pairs, or the ranking with its intervals and groups."""
    shown = one.as_table()
    if one.shows_pairs:
        head = [*_texts(shown.head)[:-1], "differs"]
        rows: Rows = [[named(a), named(b), *rest[:-1], "yes" if rest[-1] else "no"]
                      for a, b, *rest in map(_texts, shown.rows)]  # fmt: skip
        made = table("Pairs", head, rows, left=(0, 1, 8), name="tall")
        title = "All pairs in numbers"
    else:
        head = _texts(shown.head)
        rows = [[named(name), *rest] for name, *rest in map(_texts, shown.rows)]
        left = (0, len(head) - 1) if head[-1] == "groups" else (0,)
        made = table("Means, intervals and groups", head, rows, left=left, name="narrow tall")
        title = "Intervals and groups of all systems in numbers"
    return el("details", el("summary", title), made)


def _texts(cells: Iterable[str | Cell]) -> list[str]:
    return [as_cell(one).text for one in cells]


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
        return Html("")
    pieces: list[object] = []
    notes: dict[str, None] = {}
    for result in contents.judges:
        if isinstance(result, JudgeComparison):
            pieces.append(el("p", _best_judge(result), class_="lead"))
        for shown in result.tables():
            rows: Rows = [[named(name), *cells] for name, *cells in map(_texts, shown.rows)]
            head = _texts(shown.head)
            pieces.append(table(shown.title, head, rows, left=shown.left, name="tall"))
            lines = (f"{capitalised(note)}." for note in shown.notes)
            pieces += [el("p", line, class_="small") for line in lines]
        notes |= dict.fromkeys(result.notes)
    pieces += [el("p", f"Note: {note}.", class_="small") for note in notes]
    title = el("h2", "Judges beside people", id="h-judges")
    section = el("section", title, *pieces, id="judges", aria_labelledby="h-judges")
    return Html(f"{section}\n")


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
        "warned": warned(contents),
        "script": Html(code),
        "options": measure_options(contents),
        "evaluated": evaluated(contents),
        "answers": answers(contents),
        "systems": systems(contents),
        "analysis": analysis(contents),
        "scales": scales(contents),
        "judges": judges(contents),
        "judges_link": Html('<li><a href="#judges">Judges</a></li>\n' if contents.judges else ""),
        "settings": settings(contents),
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

    target = _named(path, "the page")
    if Path(target).suffix.lower() in OTHER:
        raise PolicyError(
            f"the report is HTML; expected a name that ends in .html, got {quoted(target)}"
        )
    files = hashed(_files(inputs))
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
    return Path(target)


def _is_experiment(results: Any) -> bool:
    """Return True for an experiment, without the slow import of its class if it is not loaded."""
    loaded = sys.modules.get("cranfield.online.experiments.report")
    return loaded is not None and isinstance(results, loaded.ExperimentReport)


def _named(path: Any, what: str) -> str:
    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise PolicyError(f"{what} must be the path of a file, got {type(path).__name__}")
    return name


def _files(inputs: Any) -> list[str]:
    if isinstance(inputs, (str, PathLike)):
        inputs = [inputs]
    if not isinstance(inputs, Iterable) or isinstance(inputs, (bytes, bytearray)):
        raise PolicyError(f"inputs must be a list of paths, got {type(inputs).__name__}")
    return [_named(one, "each of inputs") for one in inputs]


def _command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    if isinstance(command, Sequence) and all(isinstance(one, str) for one in command):
        return shlex.join(command)
    raise PolicyError("command must be text, or a list of its arguments as text")
