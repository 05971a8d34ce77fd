"""Times and numbers: to the second, whatever the offset, and whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cranfield.base.errors import PolicyError
from cranfield.campaign.checks import checking
from tests.campaign.submitting.conftest import Clock, News, Write

AOE = "opens = 2026-08-15T00:00:00+14:00\ncloses = 2026-08-15T23:59:59-12:00\n"
"""From the first to the last moment of a day anywhere on earth, which is two days of UTC."""

OPENS = datetime(2026, 8, 14, 10, tzinfo=UTC)
CLOSES = datetime(2026, 8, 16, 11, 59, 59, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (
            OPENS - SECOND,
            "the task opens at 2026-08-14 10:00:00 UTC, 1 second after the submission",
        ),
        (OPENS, ""),
        (CLOSES, ""),
        (CLOSES + timedelta(milliseconds=999), ""),
        (
            CLOSES + SECOND,
            "the task closed at 2026-08-16 11:59:59 UTC, 1 second before the submission",
        ),
        (
            CLOSES + 3 * 60 * SECOND,
            "the task closed at 2026-08-16 11:59:59 UTC, 3 minutes before the submission",
        ),
    ],
)
def test_anywhere_on_earth_to_the_second(
    news: News, write: Write, clock: Clock, when: datetime, said: str
) -> None:
    opened = news(AOE)
    clock.now = when.astimezone(timezone(timedelta(hours=5, minutes=45)))
    done = opened.submit(write(), team="padua")
    assert [one.message for one in done.report.faults] == [said] * bool(said)
    assert done.is_accepted is not bool(said)


def test_late_runs_are_marked_where_the_rules_say_so(
    news: News, write: Write, clock: Clock
) -> None:
    opened = news(AOE + "late = 'mark'\n")
    clock.now = CLOSES
    assert not opened.submit(write("a", "ab"), team="padua").submission.late
    clock.now += SECOND
    done = opened.submit(write("b", "ba"), team="padua")
    assert done.is_accepted and done.submission.late
    assert [one.to_text("b.run") for one in done.report.faults] == [
        "b.run: warning: the task closed at 2026-08-16 11:59:59 UTC, 1 second before the"
        " submission; the run is marked as late and not pooled [closed]"
    ]


def test_a_time_that_is_given_decides(news: News, write: Write, clock: Clock) -> None:
    opened = news(AOE)
    clock.now = CLOSES + timedelta(days=30)
    assert opened.submit(write(), team="padua", received=CLOSES).is_accepted
    with pytest.raises(PolicyError, match="in the future, got '2026-09-15 12:00:00 UTC'"):
        opened.submit(write("b", "ba"), team="padua", received=clock.now + SECOND)
    with pytest.raises(PolicyError, match="must have an offset from UTC"):
        opened.submit(write("b", "ba"), team="padua", received=datetime(2026, 8, 15))  # noqa: DTZ001


def test_a_run_comes_when_its_bytes_are_there_however_long_the_check_takes(
    news: News, write: Write, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, check = news(AOE), checking.check_with_metadata
    clock.now = CLOSES

    def slow(*given: Any) -> Any:
        clock.go(hours=1)
        return check(*given)

    monkeypatch.setattr("cranfield.campaign.submitting.submit.check_with_metadata", slow)
    assert opened.submit(write(), team="padua").submission.received == "2026-08-16T11:59:59Z"
    assert clock.now > CLOSES


def test_a_clock_that_goes_back(news: News, write: Write, clock: Clock) -> None:
    """Runs stay in the order in which they came; each is judged by its own time."""
    opened = news(AOE + "runs_per_day = 2\n")
    clock.now = CLOSES + SECOND
    assert not opened.submit(write("a", "ab"), team="padua").is_accepted
    clock.go(seconds=-1)
    assert opened.submit(write("b", "ba"), team="padua").is_accepted
    third = opened.submit(write("c", "xy"), team="padua")
    assert [one.code for one in third.report.errors] == ["limit"]
    times = [one.received for one in opened.submissions(states=["accepted", "refused"])]
    assert times == ["2026-08-16T12:00:00Z", "2026-08-16T11:59:59Z", "2026-08-16T11:59:59Z"]


def test_days_are_those_of_utc(news: News, write: Write, clock: Clock) -> None:
    opened = news("runs_per_day = 1\n")
    clock.now = datetime(2026, 8, 15, 23, 59, 59, 999_999, tzinfo=UTC)
    assert not opened.submit(write("../x"), team="padua").is_accepted
    done = opened.submit(write("a", "ab"), team="padua")
    assert [one.message for one in done.report.faults] == [
        "team 'padua' already submitted 1 run on 2026-08-15 (UTC), including refused runs;"
        " the maximum is 1"
    ]
    assert opened.submit(write("b", "ba"), team="delft").is_accepted
    clock.now += timedelta(microseconds=1)
    assert opened.submit(write("a", "ab"), team="padua").is_accepted


def test_what_counts_for_a_team(news: News, write: Write) -> None:
    opened = news("runs_per_team = 2\n[tasks.other]\nmissing_topics = 'allow'\n")
    for tag in "ab":
        assert opened.submit(write(tag, f"{tag}x"), "adhoc", team="padua").is_accepted
    third = opened.submit(write("c", "cx"), "adhoc", team="padua")
    assert [one.message for one in third.report.faults] == [
        "team 'padua' already has 2 accepted runs; the maximum is 2"
    ]
    assert opened.submit(write("c", "cx"), "other", team="padua").is_accepted
    assert opened.submit(write("d", "dx"), "adhoc", team="padua", replaces="a").is_accepted
    opened.withdraw("b", "a bug")
    assert opened.submit(write("e", "ex"), "adhoc", team="padua").is_accepted
