"""Rows and columns that summarise others: names in several languages, and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import polars as pl

from cranfield.sources.schemas import Suspicions, fold_name

_TOTALS = """
all (all) overall total totals grandtotal columntotal sum summe gesamt gesamtsumme gesamtergebnis
insgesamt somme totalgénéral totalgeneral sumatotal totalgeral totale totalecomplessivo totaal
eindtotaal summa ialt yhteensä razem celkem toplam geneltoplam итого всего сумма 合計 総計 合计
总计 總計 합계 총계
"""
TOTALS = frozenset(_TOTALS.split())
"""Names of rows with totals of other rows, as normalised by `schemas.fold_name`."""

_SUMMARIES = """
count min max mean average avg amean gmean hmean median std stdev stddev sd variance macroavg
microavg weightedavg arithmeticmean geometricmean harmonicmean grandmean alltopics allqueries
anzahl mittelwert durchschnitt standardabweichung varianz moyenne médiane écarttype ecarttype
promedio mediana gemiddelde standaarddeviatie medelvärde gennemsnit gjennomsnitt keskiarvo średnia
průměr ortalama среднее медиана 平均 平均値 平均值 標準偏差 标准差 평균
"""
SUMMARIES = TOTALS | frozenset(_SUMMARIES.split())
"""Names of rows and columns that summarise others, as normalised by `schemas.fold_name`."""

_WORDS = """
n se sem stderr var ci map gmap macro micro aggregate grand weighted arithmetic geometric harmonic
error errors deviation p pvalue pvalues t ttest w l win wins tie ties loss losses diff diffs
difference differences delta δ gain gains improvement improvements change lift effect significance
best worst range relative rel topics queries media média medio medel medie mittel suma soma
"""
_OTHER_WORDS = "of no the per and column row number value values test size standard"
_SUMMARY_WORDS = SUMMARIES | frozenset(_WORDS.split())
_NAME_WORDS = _SUMMARY_WORDS | frozenset(_OTHER_WORDS.split())
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")

_SCOPE = re.compile(r"\s*\((all\b|n *=|\d)[^()]*\)$", re.IGNORECASE)
_QUANTILE = re.compile(r"\b\d+(\.\d+)?%")


def may_be_summary(name: str) -> bool:
    """Return True if a name, such as `p-value`, only has words of summaries and comparisons.

    >>> [may_be_summary(name) for name in ("Overall mean", "W/T/L", "a_mean", "test", "q1")]
    [True, True, False, False, False]
    """
    name = _QUANTILE.sub("", name)
    words = {*_WORD.findall(name.casefold())}
    is_summary = words <= _NAME_WORDS and not words.isdisjoint(_SUMMARY_WORDS)
    return is_summary and not _DIGIT.search(name)


def find_summaries(labels: Iterable[str | None]) -> set[str]:
    """Return the labels of rows that summarise the others.

    Names with other uses, such as `t`, only count if the names of all other rows have digits, and
    quantiles, such as `25%`, only if another row, not named `all`, is a summary.

    >>> sorted(find_summaries(["q1", "q2", "Mean (all)", "25%", "SE"]))
    ['25%', 'Mean (all)', 'SE']
    >>> sorted(find_summaries(["de", "se", "25%", "50%"]))
    []
    """
    texts = {label for label in labels if label}
    # With digits, only names such as `25%` and `mean (n=50)` are names of summaries.
    names = {name for name in texts if "%" in name or name[-1] == ")" or not _DIGIT.search(name)}
    summaries = {name for name in names if fold_name(_SCOPE.sub("", name) or name) in SUMMARIES}
    possible_summaries = {name for name in names - summaries if may_be_summary(name)}
    quantiles = {name for name in names - summaries if _QUANTILE.fullmatch(name)}
    row_names = texts - summaries - possible_summaries - quantiles
    if row_names and all(map(_DIGIT.search, row_names & names)):
        summaries |= possible_summaries
    return summaries | quantiles if summaries - {"all"} and row_names else summaries


def ends_in_summary(labels: pl.Series, read_values: Callable[[], pl.DataFrame]) -> bool:
    """Return True if the last values are sums or means, and only their label has no digit.

    >>> values = pl.DataFrame({"a": [0.25, 0.5, 0.375], "b": [1.0, 0.0, 0.5]})
    >>> ends_in_summary(pl.Series(["q1", "q2", "Ø"]), lambda: values)
    True
    >>> ends_in_summary(pl.Series(["q1", "q2", "q3"]), lambda: values)
    False
    """
    if len(labels) < 3 or not labels[-1] or _DIGIT.search(labels[-1]):
        return False
    if not labels[:-1].str.contains(r"\d").all():
        return False
    evidence = 0  # of a matching column: 2 if unlikely by chance, 0 if equal to a row, else 1
    for column in read_values().iter_columns():
        values, summary = column[:-1].drop_nulls(), column[-1]
        if values.is_empty() or summary is None:
            continue
        decimals = len(f"{summary!r}".partition(".")[2])
        rounding = 0.51 * 0.1 ** min(max(decimals, 2), 9)
        if min(abs(summary - values.sum()), abs(summary - values.mean())) > rounding:
            return False
        evidence += 0 if summary in values else 2 if decimals > 2 or summary > values.max() else 1
    return evidence > 1


def suspect_totals(*columns: str) -> Suspicions:
    """Return a condition for rows of totals, with a name such as `Total` in all these columns."""
    names = pl.col(columns).str.to_lowercase().str.replace_all(r"[\s_.:-]+", "")
    is_total = pl.all_horizontal(names.is_in([*TOTALS])).fill_null(False)
    # A table may have a single name, such as `all`, in all of its rows.
    reason = f"{{{columns[0]}}} seems to be a row of totals; remove it"
    return {reason: is_total & ~is_total.all()}
