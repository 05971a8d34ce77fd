"""Sections of the page: answer, systems, scales, what was evaluated, settings."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy
import numpy as np
import polars
import scipy

from cranfield.base.arrays import best, best_first
from cranfield.base.errors import InputError
from cranfield.base.text import capitalised, counted, plain
from cranfield.base.version import __version__
from cranfield.collection.policies import ABOUT_NUMBERS, CHOICES
from cranfield.reporting import summary
from cranfield.reporting.page.contents import NO_QUALITY, Contents, Part
from cranfield.reporting.page.data import answer_figure, places, two_systems_figure
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.summary import (
    against,
    group_letters,
    lead,
    listed,
    shared_lines,
    test_sentence,
)
from cranfield.scales.meaningful import MEANINGFUL, Meaning
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.sources.archives import is_url, shown
from cranfield.tabular import Table, as_cell, shown_p


def facts(contents: Contents) -> list[tuple[str, str]]:
    """Return the numbers of systems, topics, judgments and measures, with their nouns."""
    return [(f"{noun}s", f"{number:,}") for noun, number in _numbers(contents)]


def counts(contents: Contents) -> str:
    return ", ".join(counted(number, noun) for noun, number in _numbers(contents))


def _numbers(contents: Contents) -> list[tuple[str, int]]:
    numbers = [("system", len(contents.systems)), ("topic", len(contents.topics))]
    if contents.evaluation is not None:
        numbers.append(("judgment", contents.evaluation.judged.judgments.topic.size))
    return [*numbers, ("measure", len(contents.parts))]


def coverage_lines(contents: Contents) -> list[str]:
    if contents.evaluation is None:
        return ["These are scores from elsewhere: what is unjudged, missing or tied is not known."]
    judged, rows = contents.evaluation.judged, contents.evaluation.coverage.systems
    shares = [row.unjudged_10 / max(1, row.retrieved_10) for row in rows]
    worst = int(np.argmax(shares))
    base = judged.recall_base()
    lines = [
        f"Relevant documents by topic: {int(base.min())} to {int(base.max())}, on average"
        f" {float(base.mean()):.1f}."
    ]
    if max(shares) > 0:
        condensed = judged.policies.unjudged == "condensed"
        unjudged = "they are removed" if condensed else "they count as not relevant"
        most = f", most in {label(rows[worst].system)} ({shares[worst]:.1%})"
        lines.append(
            f"Of the documents in the top 10, {float(np.mean(shares)):.1%} are unjudged on average"
            f"{most if len(rows) > 1 else ''}; {unjudged}."
        )
    else:
        lines.append("All documents in the top 10 are judged.")
    tied = [row for row in rows if row.tied]
    if tied:
        most_tied = max(tied, key=lambda row: row.tied)
        lines.append(
            f"{counted(len(tied), 'system')} {'has' if len(tied) == 1 else 'have'} documents that"
            " share their score with another of the same topic, most"
            f" {label(most_tied.system)} ({most_tied.tied:,} of {most_tied.retrieved:,});"
            f" the policy for ties is {judged.policies.ties}."
        )
    else:
        lines.append("No two documents of a ranking share their score.")
    return lines


def warnings_of(contents: Contents) -> list[str]:
    """Return the warnings at the head of the page."""
    parts = contents.parts
    notes = [] if contents.evaluation is None else contents.evaluation.notes
    failed = [one for one in parts if one.refused and one.refused != NO_QUALITY]
    notes += [f"{label(one.name)} is not compared: {one.refused}" for one in failed]
    own, common = shared_lines({label(one.name): one.policy for one in parts if one.meaning})
    return [*notes, *common, *(f"{name}: {note}" for name, some in own.items() for note in some)]


def answer_against(one: PairwiseComparison) -> str:
    """Return the head of the column on the first baseline, named if there are several."""
    if len(one.baselines) > 1:
        return joined("against ", named(one.baselines[0]))
    return "against the baseline"


def answer(part: Part) -> list[str]:
    """Return the answer by one measure: result, test, policies and meaningfulness."""
    if part.meaning is None:
        return [f"{_best_of(part)} Systems are not compared: {part.refused}."]
    one = part.meaning.comparison
    policy = [f"{capitalised(note)}." for note in part.policy]
    return [lead(one, label(part.name)), test_sentence(one), *policy, *meant(part.meaning)]


def answers_of(contents: Contents) -> tuple[list[list[str]], list[str]]:
    """Return the answer by each measure, and the lines that all comparisons share."""
    answers = [answer(part) for part in contents.parts]
    compared = {
        part.name: lines[2:]
        for part, lines in zip(contents.parts, answers, strict=True)
        if part.comparison is not None
    }
    own, common = shared_lines(compared)
    for part, lines in zip(contents.parts, answers, strict=True):
        if part.name in own:
            lines[2:] = own[part.name]
    return answers, [capitalised(line) for line in common]


def _best_of(part: Part) -> str:
    values = part.overall
    if np.isnan(values).all():
        return f"No system has a score on {label(part.name)}."
    order = best_first(values, part.scores.lower_is_better)
    names = [part.scores.systems[k] for k in order if values[k] == values[order[0]]]
    shown = f"{values[order[0]]:.{places(part)}f}"
    if len(part.scores.systems) == 1:
        return f"{label(names[0])} scores {shown} on {label(part.name)}."
    of = counted(len(values), "system")
    return f"Of {of}, the best on {label(part.name)}: {listed(names)} ({shown})."


def meant(meaning: Meaning) -> list[str]:
    """Return sentences on meaningfulness, and on what holds on any scale."""
    return [verdict_sentence(meaning), *(f"{capitalised(line)}." for line in meaning.lines()[1:])]


def verdict_sentence(meaning: Meaning) -> str:
    """Return the sentence on whether the comparison is meaningful, and why."""
    word, _, reason = meaning.first_line.partition(": ")
    if meaning.verdict == MEANINGFUL:
        return f"This is meaningful: {reason}."
    if word == "unknown":
        return f"Whether this is meaningful is unknown: {reason}."
    return f"This is not invariant under changes of the scale: {reason}."


def method(one: PairwiseComparison) -> list[str]:
    """Return sentences on the method: the heading of the comparison without the measure."""
    lines = one.heading()
    lines[0] = lines[0].removeprefix(f"{plain(one.measure)}: ")
    return [f"{capitalised(line)}." for line in lines]


def row_of(part: Part) -> list[str]:
    """Return the answer as cells of a table: best, its mean, top group, pairs, order kept."""
    one = part.comparison
    if one is None or part.meaning is None:
        return ["", "", "not compared", ""]
    best = int(one.order[0])
    more = int((one.means == one.means[best]).sum()) - 1
    named = label(one.systems[best]) + (f" and {more:,} more" if more else "")
    pairs = f"{one.count():,} of {len(one):,}"
    holds = f"{part.meaning.holds:,} of {one.count():,}" if one.count() else "–"
    if one.baselines:
        words = summary.against(one)
        top = ", ".join(f"{words.count(word)} {word}" for word in ("better", "worse"))
    elif one.alternative == "two-sided":
        top = f"{len(one.top_group):,} of {len(one.systems):,}"
    else:
        top = ""
    return [named, top, pairs, holds]


def row_of_two(part: Part) -> list[str]:
    """Return the answer on two systems as cells of a table: best, p-value, order kept."""
    if part.meaning is None:
        return ["not compared", "", ""]
    one = part.meaning.comparison
    differ = f"{'yes' if one.count() else 'no'}, p = {shown_p(one.adjusted_pvalues[0])}"
    return [row_of(part)[0], differ, "yes" if part.meaning.dominance.holds[0] else "no"]


Rows = list[list[object]]
Inputs = Sequence[tuple[str, str | None]]
"""Names of input files with their SHA-256."""

SHOWN_LINES = 2
"""Lines of an answer that are always shown: the test, and whether it is meaningful."""

Columns = dict[str, Callable[[Any], object]]
"""Functions from a part to its cell, by the head of the column."""


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    left: Collection[int] = (0,),
    name: str = "",
) -> Html:
    """Return a table in a box that scrolls; the first cell of a row is its heading."""

    def side(k: int) -> str | None:
        return None if k in left else "n"

    top = el("tr", *(el("th", cell, scope="col", class_=side(k)) for k, cell in enumerate(head)))
    body = [
        el(
            "tr",
            el("th", row[0], scope="row", class_=side(0)),
            *(el("td", cell, class_=side(k)) for k, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    inner = el("table", el("caption", caption), el("thead", top), el("tbody", *body))
    return _box(inner, f"box {name}".strip(), caption)


def shown_table(
    shown: Table, caption: str = "", *, look: str = "", names: Collection[int] = (0,)
) -> Html:
    """Return a table for reading as one of the page; some of its columns are names."""
    cells = [[as_cell(cell) for cell in row] for row in (shown.head, *shown.rows)]
    head, *rows = [[Html(cell.html) or cell.text for cell in row] for row in cells]
    rows = [[named(text) if k in names else text for k, text in enumerate(row)] for row in rows]
    return table(caption or shown.title, head, rows, left=shown.left, name=look)


def by_measure(caption: str, parts: Iterable[Part], columns: Columns, **look: Any) -> Html:
    """Return a table with one row per measure."""
    rows = [[named(part.name), *(of(part) for of in columns.values())] for part in parts]
    return table(caption, ["measure", *columns], rows, **look)


def paragraphs(lines: Iterable[object], **attributes: object) -> list[Html]:
    return [el("p", line, **attributes) for line in lines]


def listed_items(lines: Iterable[object], **attributes: object) -> Html:
    return el("ul", *(el("li", line) for line in lines), **attributes)


def of_measure(k: int, *children: object, name: str = "div") -> Html:
    """Return an element that the script shows only while its measure is selected."""
    return el(name, *children, class_="of-measure", data_measure=k)


def measure_options(contents: Contents) -> Html:
    parts = contents.parts
    return joined(*(el("option", label(part.name), value=k) for k, part in enumerate(parts)))


def warned(contents: Contents) -> Html:
    """Return a link from the head of the page to its warnings."""
    notes = len(warnings_of(contents))
    if not notes:
        return Html("")
    return joined("; ", el("a", counted(notes, "warning"), href="#evaluated"))


def evaluated(contents: Contents) -> Html:
    notes = warnings_of(contents)
    warned = el("div", el("h3", "Read this first"), listed_items(notes), class_="warning")
    numbers = [el("div", el("dt", noun), el("dd", number)) for noun, number in facts(contents)]
    columns: Columns = {
        "what it tells": lambda part: _info(part, "summary"),
        "range": _range,
        "direction": lambda part: (
            f"{'lower' if part.scores.lower_is_better else 'higher'} is better"
        ),
        "source": lambda part: _info(part, "source"),
    }
    return joined(
        warned if notes else None,
        el("dl", *numbers, class_="facts"),
        *paragraphs(coverage_lines(contents)),
        by_measure("Measures", contents.parts, columns, left=range(5), name="prose"),
    )


def _info(part: Part, name: str) -> str:
    return "" if part.measure is None else str(getattr(part.measure.info, name))


def _number(value: float, places: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{places}f}"


def _range(part: Part) -> str:
    if part.measure is None:
        return ""
    low, high = part.measure.info.range
    return f"{low:g} to {high:g}" if np.isfinite(high) else f"from {low:g}"


def answers(contents: Contents) -> Html:
    parts = contents.parts
    lines, common = answers_of(contents)
    two = len(contents.systems) == 2 and any(part.comparison is not None for part in parts)
    each = [
        _answer(k, part, lines[k], figure=None if two else answer_figure(part))
        for k, part in enumerate(parts)
    ]
    if two:
        each = [el("div", el("div", *each), two_systems_figure(contents), class_="answer")]
    if common:
        summary = el("summary", "For all measures")
        each.append(el("details", summary, *paragraphs(common)))
    if len(parts) == 1:
        return joined(*each)
    if two:
        head = ["measure", "best", "differ", "order of means holds on any scale"]
        rows: Rows = [[named(part.name), *row_of_two(part)] for part in parts]
        return joined(*each, table("By measure", head, rows, left=(0, 1, 2, 3)))
    compared = [part.comparison for part in parts if part.comparison is not None]
    heads = [answer_against(one) for one in compared if one.baselines]
    head = ["measure", "best", heads[0] if heads else "top group"]
    head += ["pairs that differ", "of them, order of means holds on any scale"]
    rows = [[named(part.name), *row_of(part)] for part in parts]
    return joined(*each, table("By measure", head, rows, left=(0, 1)))


def _answer(k: int, part: Part, lines: Sequence[str], figure: Html | None) -> Html:
    """Return the answer by a measure: a sentence, its basis, and more on demand."""
    first, *more = lines
    pieces = [el("h3", label(part.name)), el("p", first, class_="lead")]
    pieces += paragraphs(more[:SHOWN_LINES])
    if hidden := paragraphs(more[SHOWN_LINES:]):
        pieces.append(el("details", el("summary", "What holds on any scale"), *hidden))
    inner = el("div", el("div", *pieces), figure, class_="answer") if figure else joined(*pieces)
    return of_measure(k, inner, name="article")


def systems(contents: Contents) -> Html:
    """Return the table of systems and measures; the script adds sorting."""
    parts = contents.parts
    order = best_first(parts[0].overall, parts[0].scores.lower_is_better).tolist()
    bold = [best(part.overall, part.scores.lower_is_better) for part in parts]
    word, words_of = _grouped(parts[0])
    cells = [
        el("th", _button("system"), scope="col", data_sort="system", class_="system"),
        el("th", word, scope="col", class_="groups"),
    ]
    for k, part in enumerate(parts):
        head = _button(label(part.name))
        cells.append(el("th", head, scope="col", class_="n", data_sort=k, data_measure=k))
    rows = []
    for i in order:
        row = [el("th", named(contents.systems[i]), scope="row", class_="system")]
        row.append(el("td", words_of[i], class_="groups"))
        for k, part in enumerate(parts):
            value = _number(part.overall[i], places(part))
            shown = el("strong", value) if bold[k][i] else value
            row.append(el("td", shown, class_="n", data_measure=k))
        rows.append(el("tr", *row, data_system=i))
    caption = el("caption", "Systems, the best of each measure in bold")
    body = el("thead", el("tr", *cells)), el("tbody", *rows)
    return _box(el("table", caption, *body, id="systems"), "box tall", "Table of systems")


def _box(inner: Html, name: str, title: str) -> Html:
    """Return a box that scrolls."""
    return el("div", inner, class_=name, role="region", tabindex=0, aria_label=title)


def _button(text: str) -> Html:
    return el("button", text, type="button", class_="sort")


def _grouped(part: Part) -> tuple[str, list[str]]:
    """Return the head and the cells of the column of groups, or of verdicts with a baseline."""
    one = part.comparison
    if one is not None and one.baselines:
        verdicts = zip(one.systems, against(one), strict=True)
        cells = [word or ("baseline" if name in one.baselines else "") for name, word in verdicts]
        return answer_against(one), cells
    letters = None if one is None else group_letters(one)
    return ("", [""] * len(part.scores.systems)) if letters is None else ("groups", letters)


def scales(contents: Contents) -> Html:
    """Return the section on measurement scales, and on what interval scaling changes."""
    parts = contents.parts
    known = {None: "not known", True: "yes", False: "no"}
    declared: Columns = {
        "declared": lambda part: part.scaling.declared or "unknown",
        "found at its cutoff": lambda part: part.scaling.found or "not known",
        "why": lambda part: part.scaling.why,
        "own scale by topic": lambda part: known[part.scaling.by_topic],
        "verdict": lambda part: part.meaning.verdict if part.meaning else "not compared",
    }
    first = by_measure("Scales", parts, declared, left=range(6), name="prose")
    changed: Columns = {
        "interval-scaled version": lambda part: part.scaling.scaled.name,
        "pairs that differ": lambda part: f"{part.scaling.scaled.before:,}",
        "by the version": lambda part: f"{part.scaling.scaled.after:,}",
        "S2NS": lambda part: f"{part.scaling.scaled.lost:,}",
        "NS2S": lambda part: f"{part.scaling.scaled.won:,}",
        "Kendall's tau": lambda part: _number(part.scaling.scaled.tau, 4),
    }
    scaled = [part for part in parts if part.scaling.scaled is not None]
    versions = [part.scaling.scaled for part in scaled]
    noted = [f"{one.name}: {one.note}" for one in versions if one is not None and one.note]
    without = [
        f"{label(part.name)}: {part.scaling.reason}"
        for part in parts
        if part.scaling.scaled is None and part.scaling.reason
    ]
    key = (
        "S2NS: pairs that differ by the measure, and no longer by its interval-scaled version, in"
        " which neighbouring values are one step apart. NS2S: pairs that differ only by that"
        " version. Tau: how well the two order the systems alike."
    )
    pieces: list[object] = [el("p", _scale_sentence(parts)), first]
    if scaled:
        title = "What interval scaling changes"
        pieces.append(by_measure(title, scaled, changed, left=(0, 1)))
        pieces += paragraphs([key], class_="small")
    if noted:
        pieces.append(listed_items(noted, class_="small"))
    if without:
        pieces += paragraphs(["Without an interval-scaled version here:"], class_="small")
        pieces.append(listed_items(without, class_="small"))
    return joined(*pieces)


def _scale_sentence(parts: tuple[Part, ...]) -> str:
    interval = [part for part in parts if part.scaling.declared.startswith(("interval", "ratio"))]
    return (
        "A statement is meaningful when it holds under every transformation that the scale of its"
        " numbers admits. Means, t-tests and analyses of variance take an interval scale for"
        f" granted; {len(interval):,} of {len(parts):,} measures here are declared to be on"
        " one. Whether that forbids them is debated; which differences keep their order however the"
        " scale is spaced is not, and each pair above says so."
    )


NO_FILE = "not a file"
"""Shown instead of a hash for standard input, ids of ir_datasets and URLs."""


def hashed(paths: Iterable[str | PathLike[str]]) -> tuple[tuple[str, str | None], ...]:
    """Return names and SHA-256 of files; None for standard input, ids and URLs."""
    hashes: list[tuple[str, str | None]] = []
    for path in paths:
        name = fspath(path)
        if name == "-" or name.startswith("irds:") or is_url(name):
            hashes.append(("standard input" if name == "-" else shown(name), None))
            continue
        try:
            with Path(name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason.lower()}", source=name) from error
        hashes.append((Path(name).name, digest))
    return tuple(hashes)


def versions() -> dict[str, str]:
    return {
        "cranfield": __version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "polars": polars.__version__,
    }


def origin(command: str | None, date: str | None) -> list[object]:
    """Return the command that reproduces a page, and its date."""
    pieces: list[object] = []
    if command:
        pieces.append(el("p", "The command that makes this page again:"))
        pieces.append(el("pre", el("code", command), tabindex=0))
    if date:
        pieces.append(el("p", f"Date: {date}"))
    return pieces


def made_with(inputs: Inputs) -> list[object]:
    """Return the tables of versions and of input files."""
    pairs = [[name, version] for name, version in versions().items()]
    tables: list[object] = [
        table("Versions", ["program", "version"], pairs, left=(0, 1), name="narrow")
    ]
    if inputs:
        rows = [[named(name), el("code", code) if code else NO_FILE] for name, code in inputs]
        head = ["name", "SHA-256"]
        tables.append(table("Input files", head, rows, left=(0, 1), name="tall hashes"))
    return tables


def settings(contents: Contents) -> Html:
    return joined(
        *origin(contents.command, contents.date),
        _policies(contents),
        _tests(contents),
        *made_with(contents.inputs),
    )


_READ = {
    "duplicates": "which of a document that is twice in one topic is kept",
    "skipped runs": "they could not be read",
}
"""Explanations of settings of reading."""


def _policies(contents: Contents) -> Html | None:
    if contents.evaluation is None:
        return None
    chosen = contents.evaluation.judged.policies.describe()
    rows: Rows = [
        [
            name,
            "all" if value is None else str(value),
            ABOUT_NUMBERS.get(name) or CHOICES[name][str(value)],
        ]
        for name, value in chosen.items()
        if value is not None or name == "depth"
    ]
    if contents.evaluation.compat is not None:
        rows.append(["compat", contents.evaluation.compat, "policies and roundings start from it"])
    for name, value in contents.evaluation.judged.annotations.settings.items():
        said = "; ".join(value) if isinstance(value, list) else str(value)
        rows.append([name, said, _READ.get(name, "")])
    head = ["policy", "value", "what it does"]
    return table("How rankings were judged", head, rows, left=(0, 1, 2), name="prose")


def _number_or_none(number: int | None, form: str) -> str:
    return "none" if number is None else f"{number:{form}}"


def _tests(contents: Contents) -> Html | None:
    missing = contents.options.get("missing", "by default")
    columns: Columns = {
        "test": lambda part: part.comparison.info.title,
        "correction": lambda part: CORRECTIONS[part.comparison.correction].title,
        "alternative": lambda part: part.comparison.alternative,
        "alpha": lambda part: f"{part.comparison.alpha:g}",
        "missing scores": lambda _: missing,
        "random samples": lambda part: _number_or_none(part.comparison.resamples, ","),
        "seed": lambda part: _number_or_none(part.comparison.seed, "d"),
    }
    parts = [part for part in contents.parts if part.comparison is not None]
    look: dict[str, Any] = {"left": (0, 1, 2, 3, 5), "name": "prose"}
    return by_measure("How systems were compared", parts, columns, **look) if parts else None
