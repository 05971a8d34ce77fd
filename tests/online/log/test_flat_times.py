"""Times of clicks beside numbers of clicks in flat tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.base.errors import CranfieldWarning
from cranfield.online import read_log


def test_a_time_of_a_click_beside_no_clicks_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "page,query,rank,doc,clicks,click_time\n"
        "1,cats,1,a,0,2026-03-02T10:00:00Z\n1,cats,2,b,1,2026-03-02T10:00:05Z\n"
    )
    with pytest.warns(CranfieldWarning, match="1 row with the time of a click but 0 clicks"):
        log = read_log(path)
    assert log.clicks["rank"].to_list() == [2]
