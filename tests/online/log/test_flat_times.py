"""Times of clicks beside numbers of clicks in flat tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.online import measure, read_log, scan_log


def test_a_time_of_a_click_beside_no_clicks_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "page,query,rank,doc,clicks,click_time\n"
        "1,cats,1,a,0,2026-03-02T10:00:00Z\n1,cats,2,b,1,2026-03-02T10:00:05Z\n"
    )
    with pytest.warns(CranfieldWarning, match="1 row with the time of a click but 0 clicks"):
        log = read_log(path)
    assert log.clicks["rank"].to_list() == [2]


@pytest.mark.parametrize(
    ("cells", "time"),
    [
        (["20260301", "20260302"], datetime(2026, 3, 1, tzinfo=UTC)),
        ([20260301, 20260302], datetime(2026, 3, 1, tzinfo=UTC)),
        ([20260301.0, None], datetime(2026, 3, 1, tzinfo=UTC)),
        (["20260301080910", "20260302000000"], datetime(2026, 3, 1, 8, 9, 10, tzinfo=UTC)),
        (["202603010809", ""], datetime(2026, 3, 1, 8, 9, tzinfo=UTC)),
        # Seconds since 1970, and clocks that start with a session.
        (["1772352000", "1772352001"], datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ([20, 20260301], datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC)),
        ([40000, 86000], datetime(1970, 1, 1, 11, 6, 40, tzinfo=UTC)),
    ],
)
def test_numbers_may_be_dates(cells: list[Any], time: datetime) -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": cells}
    assert read_log(pages).pages["time"][0] == time
    assert read_log(pl.DataFrame(pages)).pages["time"][0] == time


def test_day_numbers_of_spreadsheets_are_not_times(tmp_path: Path) -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": ["46082.33", "46083.5"]}
    with pytest.raises(InputError, match=r"time '46082.33' is not a time .* in the spreadsheet"):
        read_log(pages)
    pl.DataFrame({**pages, "time": [20260301, 20260302]}).write_csv(tmp_path / "pages.csv")
    with pytest.raises(InputError, match="time '20260301' is not a time"):
        scan_log(tmp_path / "pages.csv")


def test_dates_have_no_seconds() -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": ["2026-03-01", "2026-03-02"]}
    log = read_log(pages, None, {"page": ["p"], "rank": [1], "time": ["2026-03-01"]})
    with pytest.warns(
        CranfieldWarning, match="all times of pages are midnight, so TimeToClick is rounded to days"
    ):
        measure(log, ["UCTR", "TimeToClick"])
    measure(log, "UCTR")
