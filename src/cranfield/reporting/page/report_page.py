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
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.models.assumptions import Assumptions
from cranfield.tabular import Cell, Table, as_cell, shown_p


def analysis(contents: Contents) -> Html:
    return joined(*(of_measure(k, *_of(part)) for k, part in enumerate(contents.parts)))


def _of(part: Part) -> list[object]:
    title = el("h3", label(part.name))
    one = part.comparison
    if one is None:
        return [title, el("p", f"Not compared: {part.refused}.")]
    pieces: list[object] = [title, *(el("p", line) for line in sections.method(one))]
    if one.anova is not None:
        pieces.append(_anova(one.anova))
    if part.assumptions is not None:
        pieces += _assumptions(part.assumptions)
    notes = [note for note in one.notes if not note.endswith(RESCALING)]
    if notes:
        pieces += [el("h4", "Notes"), el("ul", *(el("li", f"{capitalised(n)}.") for n in notes))]
    pieces.append(_intervals(one))
    return pieces


def _anova(found: AnovaTable) -> Html:
    head = ["source", "SS", "DF", "MS", "F", "p", "ω²", "effect"]
    title = f"Analysis of variance: {found.model}"
    [variance] = found.tables()
    shown = table(title, head, [_texts(row) for row in variance.rows], left=(0, 7), name="narrow")
    lines = [*found.notes, *found.heading()[1:]]
    return joined(shown, *(el("p", f"{capitalised(line)}.") for line in lines))


def _assumptions(found: Assumptions) -> list[object]:
    rows: Rows = []
    for one in found.checks:
        rejected = "yes" if one.pvalue <= found.alpha else "no"
        numbers = (f"{one.statistic:.4f}", shown_p(one.pvalue))
        rows.append([one.assumption, one.test, *numbers, rejected])
    head = ["assumption", "test", "statistic", "p", "rejected"]
    return [
        table("Checks of the assumptions", head, rows, left=(0, 1, 4),
              name="narrow") if rows else None,
        el("ul", *(el("li", note) for note in _notes(found))),
    ]  # fmt: skip


def _notes(found: Assumptions) -> list[str]:
    if found.checks:
        return found.notes
    none = "None of the tests of the assumptions could be done."
    return [none, *(note for note in found.notes if not note.startswith("No test speaks"))]


def _intervals(one: PairwiseComparison) -> Html:
    """Write the ranking with its intervals, or the pairs where these are what was asked."""
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


def read_judged(given: Any) -> tuple[Any, ...]:
    """Take what was found of judges, one result or several."""
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    found = () if given is None else tuple(given) if several else (given,)
    for one in found:
        if not isinstance(one, KINDS):
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise PolicyError(f"judges are results of cranfield.assess ({kinds}), not {one!r:.60}")
    return found


def judges_link(contents: Contents) -> Html:
    """Make the entry of the menu."""
    if not contents.judges:
        return Html("")
    return Html(f"{el('li', el('a', 'Judges', href='#judges'))}\n")


def judges(contents: Contents) -> Html:
    if not contents.judges:
        return Html("")
    pieces: list[object] = []
    notes: dict[str, None] = {}
    for found in contents.judges:
        if isinstance(found, JudgeComparison):
            pieces.append(el("p", _best(found), class_="lead"))
        for each in found.tables():
            pieces += _table(each)
        notes |= dict.fromkeys(found.notes)
    pieces += [el("p", f"Note: {note}.", class_="small") for note in notes]
    head = el("h2", "Judges beside people", id="h-judges")
    section = el("section", head, *pieces, id="judges", aria_labelledby="h-judges")
    return Html(f"{section}\n")


def _best(found: JudgeComparison) -> str:
    alpha = found.values[:, found.statistics.index("alpha")]
    best = int(best_first(alpha)[0])
    of = f"{counted(len(found.judges), 'judge')} on {counted(len(found.topics), 'topic')}"
    if np.isnan(alpha[best]):
        return f"Of {of}, none has a defined agreement with people."
    place = found.statistics.index("alpha")
    low, high = found.low[best, place], found.high[best, place]
    limits = "" if np.isnan(low) else f" ({100 * found.confidence:g}%: {low:.3f} to {high:.3f})"
    return (
        f"Of {of}, {label(found.judges[best])} agrees best with people: Krippendorff's alpha"
        f" {alpha[best]:.3f}{limits}."
    )


def _table(shown: Table) -> list[object]:
    texts = [[as_cell(cell).text for cell in row] for row in shown.rows]
    rows: list[list[object]] = [[named(name), *rest] for name, *rest in texts]
    head = [as_cell(one).text for one in shown.head]
    made = table(shown.title, head, rows, left=shown.left, name="tall")
    return [made, *(el("p", f"{capitalised(note)}.", class_="small") for note in shown.notes)]


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
"""The parts of the script, in order; together they are one function."""


def page(contents: Contents) -> str:
    """Write the page, which needs no other file and no network, and forbids scripts of others."""
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
        "judges_link": judges_link(contents),
        "settings": settings(contents),
        "data": Html(json_text(page_data(contents))),
    }
    body = filled("page.html", pieces)
    return whole_page(
        contents.title, body, style=asset("page.css") + asset("pictures.css"), scripts=[code]
    )


def script() -> str:
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


TITLE = "Evaluation report"

OTHER = {
    *(".csv", ".docx", ".ipynb", ".json", ".md", ".parquet", ".pdf"),
    *(".png", ".svg", ".tex", ".tsv", ".txt"),
}
"""Suffixes of files that are no pages."""


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
    """Write a report: one HTML file, to be opened offline, sent around, or printed.

    It says what was evaluated, which systems differ and how sure that is, lets the reader sort and
    filter systems and look at any pair topic by topic, and ends with all settings. Its numbers are
    those of the results, to the bit.

    Parameters
    ----------
    results
        An :class:`Evaluation`; or an :class:`~cranfield.online.ExperimentReport`, which has
        a page of its own and takes no options of comparisons; or scores, comparisons of the same
        systems, or meanings, by themselves, in a list or in a mapping; or whatever
        :func:`compare` takes.
    path
        The file to write; it appears whole or not at all.
    title
        Heading of the page.
    baseline, test, correction, statistic, alternative, alpha, missing
        As for :func:`compare`, for scores that are not compared yet. None is the default there.
    exact, threshold, resamples, seed
        Likewise.
    scales
        Whether measures with a cutoff are also compared by their interval-scaled versions, where
        that is quick: up to cutoff 100 for P, R, DCG, nDCG, RBP and RR, else 20.
    judges
        What was found of judges beside people, for a section of its own: what
        :func:`cranfield.assess.compare_judges`, :func:`cranfield.assess.judge_rankings` or
        :func:`cranfield.assess.kin_bias` return, or a list of these.
    inputs
        Files that the results come from: the page lists their names and SHA-256. Results do not
        know their files: without it there is no such list.
    command
        The command that makes the page again, as text or as its arguments. Without it there is
        none on the page.
    date
        A date to be shown. By default there is none: the same input gives the same bytes.
    jobs
        Threads; it never changes a result.

    Raises
    ------
    PolicyError
        For unknown options, a path, inputs or a command that are none, or options of a
        comparison for comparisons that are made already.
    CranfieldError
        When there is nothing to report, or measures are of different systems.
    InputError
        When a file cannot be read, or the page cannot be written.

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
    if (suffix := Path(target).suffix.lower()) in OTHER:
        raise PolicyError(f"the report is a page of HTML, and {quoted(target)} is called {suffix}")
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
                raise PolicyError(f"{name}: an experiment is analysed already, and takes none")
        called = "Experiment report" if title == TITLE else title
        made = experiment_page(results, called, inputs=files, command=shown, date=date)
    else:
        contents = collect(results, title=title, scales=scales, jobs=jobs, **options)
        contents = replace(contents, inputs=files, command=shown, date=date, judges=judged)
        made = page(contents)
    with whole_file(target) as out:
        out.write(made.encode())
    return Path(target)


def _is_experiment(results: Any) -> bool:
    """Tell whether an experiment was analysed; who has one has loaded its class, which is slow."""
    loaded = sys.modules.get("cranfield.online.experiments.report")
    return loaded is not None and isinstance(results, loaded.ExperimentReport)


def _named(path: Any, what: str) -> str:
    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise PolicyError(f"{what} needs the path of a file, not {type(path).__name__}")
    return name


def _files(inputs: Any) -> list[str]:
    """Return the names of the files of a page; one path is one file."""
    if isinstance(inputs, (str, PathLike)):
        inputs = [inputs]
    if not isinstance(inputs, Iterable) or isinstance(inputs, (bytes, bytearray)):
        raise PolicyError(f"inputs: a list of paths is needed, not {type(inputs).__name__}")
    return [_named(one, "each of inputs") for one in inputs]


def _command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    if isinstance(command, Sequence) and all(isinstance(one, str) for one in command):
        return shlex.join(command)
    raise PolicyError("command: text is needed, or a list of its arguments as text")
