"""The report of an experiment as one page: the sample ratio first, then what differs."""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.text import capitalised, counted
from cranfield.online.experiments.report import ALARM, STOPPED, ExperimentReport
from cranfield.reporting.page.drawn import drawn_limits, drawn_looks
from cranfield.reporting.page.html import Html, el, joined, label, named, page_of_parts
from cranfield.reporting.page.sections import (
    Inputs,
    Rows,
    listed_items,
    made_with,
    origin,
    shown_table,
    table,
)
from cranfield.reporting.summary import listing
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.tabular import between, from_frame, number

SOURCES = (
    "Kohavi, Tang and Xu (2020): Trustworthy online controlled experiments",
    "Fabijan et al. (2019): sample ratio mismatch",
    "Deng et al. (2018): the delta method for metrics of other units than those randomised",
)
"""Sources of every analysis."""

SEQUENTIAL = "Howard et al. (2021); Waudby-Smith et al. (2024): limits that hold at all looks"
PERMUTED = "Janssen (1997); Chung and Romano (2013): permutations of a studentised difference"


def experiment_page(
    report: ExperimentReport,
    title: str,
    *,
    inputs: Inputs = (),
    command: str | None = None,
    date: str | None = None,
) -> str:
    """Return the page, which needs no other file, no network and no script."""
    parts = {
        "answer": ("The answer", _answer(report)),
        "ratio": ("Sample ratio", _ratio(report)),
        "metrics": ("Metrics", _metrics(report)),
        "looks": ("Over time", _looks(report)),
        "segments": ("Segments", _segments(report)),
        "log": ("What was odd", _odd(report)),
        "settings": ("Exact settings", _settings(report, inputs, command, date)),
    }
    return page_of_parts(title, _counts(report), parts, styles=("page.css", "experiment.css"))


def _counts(report: ExperimentReport) -> str:
    units = counted(int(report.units.sum()), report.unit)
    metrics = counted(len(report.metrics), "metric")
    return f"{units}, {counted(len(report.variants), 'variant')}, {metrics}; {label(report.source)}"


def _answer(report: ExperimentReport) -> Html:
    if report.stopped:
        lead = el("p", f"{capitalised(STOPPED)}.", class_="lead")
        return el("div", lead, el("p", f"{report.sample_ratio}."), class_="warning")
    return joined(
        *(el("p", _sentence(report, j), class_="lead") for j in range(len(report.variants) - 1)),
        el("p", f"{capitalised(str(report.sample_ratio))}."),
    )


def _sentence(report: ExperimentReport, j: int) -> str:
    """Return a sentence on the effects of a variant."""
    name, control = label(report.variants[j + 1]), label(report.control)
    found: dict[str, list[str]] = {}
    for k, metric in enumerate(report.metrics):
        verdict = report.verdicts[k][j]
        lift = report.lift[k, j]
        shown = f" ({lift:+.1%})" if np.isfinite(lift) and verdict in {"better", "worse"} else ""
        found.setdefault(verdict, []).append(f"{label(metric)}{shown}")
    parts = [
        f"{verdict} by {listing(found[verdict], None)}"
        for verdict in ("better", "worse")
        if verdict in found
    ]
    if "not worse" in found:
        parts.append(f"not worse than the margin by {listing(found['not worse'], None)}")
    open_ = found.get("undecided", [])
    if not parts:
        return f"No difference between {name} and {control} is found by {listing(open_, None)}."
    rest = f"; nothing is found by {listing(open_, None)}" if open_ else ""
    return f"{name} is {' and '.join(parts)} than {control}{rest}."


def _ratio(report: ExperimentReport) -> Html:
    frame = report.sample_ratio.to_polars()
    rows: Rows = [
        [named(name), f"{units:,}", f"{expected:,.1f}", f"{share:.2%}", f"{wanted:.2%}"]
        for name, units, expected, share, wanted in frame.iter_rows()
    ]
    head = [frame.columns[0], f"{report.unit}s", *frame.columns[2:]]
    made = [
        table("Units of each variant", head, rows, name="narrow"),
        el(
            "p",
            f"An alarm is p < {ALARM:g}. {capitalised(report.sample_ratio.method)} test,"
            f" p {report.sample_ratio.pvalue:.4g}.",
            class_="small",
        ),
    ]
    if report.sample_ratios.height:
        rows = [
            [
                named(by),
                named(level),
                f"{units:,}",
                f"{p:.4g}",
                f"{again:.4g}{' MISMATCH' if again < ALARM else ''}",
            ]
            for by, level, units, p, again in report.sample_ratios.iter_rows()
        ]
        head = ["by", "level", f"{report.unit}s", "p", "p with Holm's correction"]
        made.append(table("Sample ratio by level", head, rows, left=(0, 1), name="tall"))
    return joined(*made)


def _metrics(report: ExperimentReport) -> Html:
    effects = report.to_polars()
    lifts = effects.select("lift low", "lift high")
    finite = lifts.filter(pl.all_horizontal(pl.all().is_finite())).to_numpy()
    ends = finite.min(initial=0.0), finite.max(initial=0.0)
    rows: Rows = []
    for row in effects.iter_rows(named=True):
        lift, low, high = (
            np.nan if row[name] is None else row[name] for name in ("lift", "lift low", "lift high")
        )
        change = [f"{one:+.2%}" if np.isfinite(one) else "" for one in (lift, low, high)]
        drawn = drawn_limits(lift, low, high, *ends)
        difference = number(row["difference"]), between(row["low"], row["high"])
        rows.append(
            [
                named(row["metric"]),
                named(row["variant"]),
                row["verdict"],
                number(row["control mean"]),
                number(row["mean"]),
                _limited(*difference),
                _limited(change[0], " to ".join(filter(None, change[1:]))),
                el("div", drawn, class_=row["verdict"].replace(" ", "-")),
                _p(row["adjusted p"]),
            ]
        )
    level = f"{100 - 100 * report.alpha:g}% confidence interval"
    head = ["metric", "variant", "verdict", f"{label(report.control)} (control)", "mean"]
    head += [f"difference, {level}", f"lift, {level}", "0 is dashed", "p"]
    made = table("Metrics by variant", head, rows, left=(0, 1, 2, 7))
    corrected = f"p: {CORRECTIONS[report.correction].title}. " if report.difference.size > 1 else ""
    return joined(
        made, el("p", f"{corrected}Confidence intervals hold for each row alone.", class_="small")
    )


def _limited(value: str, limits: str) -> Html:
    return joined(value or "–", el("br"), el("span", limits or "no interval", class_="small"))


def _p(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "–"


def _looks(report: ExperimentReport) -> Html | None:
    if report.looks is None or report.looks.is_empty():
        return None
    made: list[object] = [el("p", f"{report.sequential}: limits and p hold at all looks together.")]
    for (metric, variant), part in report.looks.group_by("metric", "variant", maintain_order=True):
        title = f"{label(str(metric))}, {label(str(variant))} less {label(report.control)}"
        made += [el("h3", title), drawn_looks(part, title, f"{report.unit}s")]
        rows: Rows = [
            [f"{units:,}", number(difference), number(low), number(high), _p(p)]
            for units, difference, low, high, p in part.select(
                "units", "difference", "low", "high", "p"
            ).iter_rows()
        ]
        head = [f"{report.unit}s", "difference", "low", "high", "p, the least so far"]
        made.append(table(title, head, rows, left=(), name="tall narrow"))
    return joined(*made)


def _segments(report: ExperimentReport) -> Html | None:
    frames = {
        "Tests that effects are the same at all levels": report.interactions,
        "Effects at each level": report.segments,
    }
    made = [
        shown_table(from_frame(frame, title), look="tall", names=_names_in(frame))
        for title, frame in frames.items()
        if frame is not None and frame.height
    ]
    return joined(*made) if made else None


def _names_in(frame: pl.DataFrame) -> list[int]:
    return [k for k, kind in enumerate(frame.dtypes) if kind == pl.String]


def _odd(report: ExperimentReport) -> Html | None:
    if not report.notes:
        return None
    return listed_items(f"{capitalised(label(note))}." for note in report.notes)


def _settings(
    report: ExperimentReport, inputs: Inputs, command: str | None, date: str | None
) -> Html:
    chosen = {
        "source": label(report.source),
        "unit": report.unit,
        "control": label(report.control),
        "alpha": f"{report.alpha:g}",
        "correction": CORRECTIONS[report.correction].title,
        "test": joined(*(el("div", label(one)) for one in report.methods())),
        "coefficient of covariates": report.theta,
        "sequential": report.sequential or "no: one look",
    }
    rows: Rows = [[named(name), value] for name, value in chosen.items()]
    title = "How the experiment was analysed"
    sources = [*SOURCES, *([SEQUENTIAL] if report.sequential else [])]
    if any("permutation" in test for tests in report.tests for test in tests):
        sources.append(PERMUTED)
    return joined(
        *origin(command, date),
        table(title, ["setting", ""], rows, left=(0, 1), name="prose"),
        *made_with(inputs),
        el("h3", "Sources"),
        listed_items(sources),
    )
