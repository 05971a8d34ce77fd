"""Kaplan-Meier and log-rank, beside R's survival and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import CensoredData, ecdf, logrank

import cranfield as cf
from cranfield.online.log.query_log import make_log
from cranfield.online.measures.survival import fit_kaplan_meier
from tests.online.measures.logs import pages_of, random_log

MAINTAINED = "9 13 13+ 18 23 28+ 31 34 45+ 48 161+"
NOT_MAINTAINED = "5 5 8 8 12 16+ 23 27 30 33 43 45"


def read(text: str) -> tuple[np.ndarray, np.ndarray]:
    given = text.split()
    times = np.array([float(one.rstrip("+")) for one in given])
    return times, np.array([not one.endswith("+") for one in given])


def test_curves_are_those_of_r() -> None:
    """R 4's survfit(Surv(time, status) ~ x, data = aml), printed with rmean = 45."""
    want = {
        MAINTAINED: (31, 30.73863636, 4.114086240),
        NOT_MAINTAINED: (23, 22.70833333, 4.180941981),
    }
    for text, (median, mean, error) in want.items():
        found = fit_kaplan_meier(*read(text))
        assert found.median == median
        assert_allclose(found.compute_restricted_mean(45.0), (mean, error), rtol=1e-9)
    # Nothing ends before the horizon: the mean is the horizon, and its error is not known.
    late = fit_kaplan_meier(np.full(5, 60.0), np.ones(5, dtype=bool))
    assert_allclose(late.compute_restricted_mean(45.0), (45, np.nan))


def test_the_median_of_a_flat_half_is_its_middle() -> None:
    """R: survfit(Surv(c(1, 2, 3, 4), c(1, 1, 1, 1)) ~ 1) has the median 2.5."""
    assert fit_kaplan_meier(np.array([1.0, 2, 3, 4]), np.ones(4, bool)).median == 2.5
    assert np.isnan(fit_kaplan_meier(np.array([1.0, 2, 3]), np.array([True, False, False])).median)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40))
def test_curves_are_those_of_scipy(rows: list[tuple[int, bool]]) -> None:
    times = np.array([float(time) for time, _ in rows])
    seen = np.array([one for _, one in rows])
    found = fit_kaplan_meier(times, seen)
    sf = ecdf(CensoredData(uncensored=times[seen], right=times[~seen])).sf
    places = np.searchsorted(sf.quantiles, found.times)
    assert_allclose(found.survival, sf.probabilities[places], atol=1e-12)
    grid = np.linspace(0, found.max_time, 20001)
    middle = (grid[1:] + grid[:-1]) / 2
    area = np.sum(sf.evaluate(middle) * np.diff(grid))
    assert_allclose(
        found.compute_restricted_mean(found.max_time)[0], area, atol=0.02 + 1e-3 * found.max_time
    )


def absences(log: cf.online.QueryLog, variant: str) -> tuple[list[float], list[float]]:
    """Absences of a variant that ended, and how long the others lasted at least."""
    spans: dict[str, dict[str, list[float]]] = {}
    ends = 0.0
    for page in pages_of(log):
        moments = [page.row["time"], *(click["time"] for click in page.clicks)]
        at = [one.timestamp() for one in moments]
        ends = max(ends, *at)
        if page.row["variant"] == variant:
            spans.setdefault(page.row["user"], {}).setdefault(page.row["session"], []).extend(at)
    seen, open_ended = [], []
    for own in spans.values():
        ordered = sorted((min(at), max(at)) for at in own.values())
        for k, (_, end) in enumerate(ordered):
            if k + 1 == len(ordered):
                open_ended.append(ends - end)
            elif ordered[k + 1][0] >= end:
                seen.append(ordered[k + 1][0] - end)
    return seen, open_ended


@pytest.mark.parametrize("seed", range(3))
def test_absences_of_variants_are_compared_by_logrank(seed: int) -> None:
    log = random_log(seed, 80)
    found = cf.online.survival(log, "AbsenceTime", "variant")
    own = [absences(log, variant) for variant in found.groups]
    both = [CensoredData(uncensored=seen, right=rest) for seen, rest in own]
    want = logrank(*both)
    assert_allclose(found.tests["statistic"].item(), want.statistic, rtol=1e-6)
    assert_allclose(found.tests["pvalue"].item(), want.pvalue, rtol=1e-5)
    assert found.table["censored"].to_list() == [len(rest) for _, rest in own]
    assert found.table["values"].to_list() == [len(seen) + len(rest) for seen, rest in own]


def test_times_to_click_are_censored_by_the_next_page() -> None:
    log = random_log(2, 40)
    found = cf.online.survival(log, "TimeToClick")
    pages = list(pages_of(log))
    waits = [page.waited(page.clicks[0]) for page in pages if page.clicks]
    row = found.table.row(0, named=True)
    assert (row["values"], row["censored"]) == (40, 40 - len(waits))
    assert_allclose(row["uncensored_median"], np.median(waits))
    assert_allclose(row["uncensored_mean"], np.mean(waits))
    # Without what tells of later pages, what is censored is so at once.
    alone = make_log(log.pages.drop("session"), log.results, log.clicks)
    assert cf.online.survival(alone, "TimeToClick").table["censored"].item() == row["censored"]


def test_dwell_goes_by_clicks() -> None:
    log = random_log(4, 60)
    row = cf.online.survival(log, "Dwell").table.row(0, named=True)
    known = log.clicks.drop_nulls("dwell")
    assert (row["values"], row["missing"]) == (known.height, log.clicks.height - known.height)
    ended = known.filter(~known["censored"])["dwell"]
    assert_allclose(row["uncensored_median"], np.median(ended.to_numpy()))
