"""One way to a table, whatever the results are."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import ArgumentError, PolicyError
from cranfield.base.words import did_you_mean
from cranfield.reporting.kinds_of_marks import kind_of, levels_of
from cranfield.reporting.tables.marks import Marks, marks_of
from cranfield.reporting.tables.scores_table import evaluation_table
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.tabular import Table, from_frame


def table(
    results: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str | None = None,
    alpha: float | Sequence[float] = 0.05,
    marks: str | None = None,
    sort: str | None = None,
    best: bool = True,
    second: bool = False,
    percent: bool = False,
    places: int | None = None,
    **options: Any,
) -> Table:
    r"""Make a :class:`Table` of results, for a paper, a page or a notebook.

    Parameters
    ----------
    results
        An :class:`Evaluation`, or :class:`Scores`, of one measure or by measure: a row a system.
        A :class:`PairwiseComparison`: its ranking with groups, or its pairs. The table of an
        analysis of variance. A polars data frame, such as the tables of a study: as it is.
    baseline, test, correction
        Where one of them is given, an evaluation is tested too, as by :func:`cranfield.compare`,
        each measure by itself. Tests and corrections have their defaults there.
    alpha
        Significance level. With one baseline there may be several, each with a symbol of its own.
    marks
        What is raised behind a score: `symbols` that it differs from the baseline, letters of the
        systems `beaten` (significantly different, with a worse mean), letters of `groups` of
        systems that do not differ, or `none`. By default symbols where there is a baseline, and
        letters of the systems beaten where there is a test without one.
    sort
        The measure by which the systems of an evaluation are ordered, the best first.
    best, second
        Whether the best value of each measure is bold, and the second best underlined. Values that
        look the same are treated the same.
    percent
        Whether means are shown times 100.
    places
        Decimals that are shown; by default four, or more where all values are small, and two less
        of percentages.
    options
        Of the test: `alternative`, `missing`, `exact`, `threshold`, `resamples`, `seed`, `jobs`.

    Raises
    ------
    PolicyError
        For results that have no table, and for options that do not fit them.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@20", "P@20"])
    >>> print(cf.table(ev, baseline=ev.systems[3], test="t", alpha=(0.05, 0.01)))
    4 systems, 50 topics
    <BLANKLINE>
    System               nDCG@20    P@20
    UPrrf93-wt-r5        0.8496 †  0.8760
    UPrrf102-wt-r5       0.8490 †  0.8690
    covidex.r5.2s.lr     0.8311    0.8460
    elhuyar_prf_nof99p   0.8116    0.8340
    <BLANKLINE>
    differs from elhuyar_prf_nof99p: † p ≤ 0.05, ‡ p ≤ 0.01
    Paired t-test with Holm's correction, each measure by itself, 50 topics
    note: ...
    >>> print(cf.table(ev["P@20"], marks="groups", places=3).to_latex(caption="P@20"), end="")
    \begin{table}
    \centering
    \caption[{P@20}]{P@20. 4 systems, 50 topics. The best of each measure in bold. Systems ...}
    \begin{tabular}{lr@{}l}
    \toprule
    System & \multicolumn{2}{c}{P@20} \\
    \midrule
    UPrrf93-wt-r5 & \textbf{0.876} & \textsuperscript{a} \\
    UPrrf102-wt-r5 & 0.869 & \textsuperscript{ab} \\
    covidex.r5.2s.lr & 0.846 & \textsuperscript{ab} \\
    elhuyar\_prf\_nof99p & 0.834 & \textsuperscript{b} \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    _check_names(options)
    chosen = {
        "baseline": baseline is not None,
        "test": test is not None,
        "correction": correction is not None,
        "alpha": alpha != 0.05,
        "marks": marks is not None,
        "sort": sort is not None,
        "best": not best,
        "second": second,
        "percent": percent,
        **dict.fromkeys(options, True),
    }
    if not isinstance(results, (Scores, Mapping)):
        return _ready(results, places, [name for name, given in chosen.items() if given])
    scores = {results.measure: results} if isinstance(results, Scores) else results
    if not all(isinstance(one, Scores) for one in scores.values()):
        raise PolicyError("a table is made of Scores by measure; cf.read_scores makes them")
    _check_options(places, best=best, second=second, percent=percent)
    if not (baseline is None or isinstance(baseline, (str, list, tuple))):
        raise PolicyError(f"a baseline is the name of a system, not {baseline!r}")
    wanted = [name for name in ("baseline", "test", "correction") if chosen[name]]
    made = Marks()
    if marks != "none" and (wanted or marks is not None):
        given = [] if baseline is None else [baseline] if isinstance(baseline, str) else baseline
        levels = levels_of(alpha)
        kind = kind_of(marks, list(given), levels)
        found = {
            name: compare(
                one,
                test=test,
                correction=correction,
                alpha=levels[0],
                baseline=baseline,
                **options,
            )
            for name, one in scores.items()
        }
        made = marks_of(found, kind, levels)
        # What was tested is what is shown, also where missing scores were filled in or left out.
        scores = {name: one.scores for name, one in found.items()}
    elif options:
        raise PolicyError(f"{next(iter(options))} is an option of a test; name one, as in test='t'")
    return evaluation_table(
        scores, made, sort=sort, best=best, second=second, percent=percent, places=places
    )


OPTIONS = ("alternative", "missing", "exact", "exact_n", "threshold", "resamples", "seed", "jobs")


MOST_PLACES = 17
"""Decimals of a float that mean anything."""


def _check_options(places: int | None, **flags: bool) -> None:
    if places is not None:
        check_whole("places", places, 0, MOST_PLACES)
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise PolicyError(f"{name} is True or False, not {value!r}")


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            parameters = inspect.signature(table).parameters.values()
            known = [*(one.name for one in parameters if one.kind is one.KEYWORD_ONLY), *OPTIONS]
            otherwise = f"there are {', '.join(known)}"
            hint = did_you_mean(name, known, 1, otherwise=otherwise, shown="{}=…".format)
            raise ArgumentError(f"a table has no option {name!r}{hint}")


def _ready(results: Any, places: int | None, chosen: Sequence[str]) -> Table:
    if not isinstance(results, (PairwiseComparison, AnovaTable, pl.DataFrame)):
        raise PolicyError(
            "a table is made of an evaluation, scores, a comparison, an analysis of variance or a"
            f" polars data frame, not of {type(results).__name__}"
        )
    if chosen:
        raise PolicyError(f"{chosen[0]} is for a table of an evaluation")
    _check_options(places)
    if isinstance(results, PairwiseComparison):
        return results.table(places)
    if isinstance(results, AnovaTable):
        return results.table()
    return from_frame(results, "", places=4 if places is None else places)
