"""Which rows of a table are units, and how names, truth values and times are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.online import Metric, analyse_experiment, simulate_aa_tests


def sessions(name: str, seed: int = 1, per_user: int = 6) -> dict[str, list[Any]]:
    """Rows of 40 users, each in one variant; users differ, variants do not."""
    random = np.random.default_rng(seed)
    users = np.repeat(np.arange(40), per_user)
    rate = random.beta(0.5, 1.5, 40)[users]
    return {
        name: [f"u{k}" for k in users],
        "variant": [("control", "treatment")[k % 2] for k in users],
        "clicks": random.binomial(5, rate).tolist(),
        "pages": [5] * users.size,
    }


def forms(table: dict[str, list[Any]], folder: Path) -> dict[str, Any]:
    """Return a table as each source that is read."""
    frame = pl.DataFrame(table)
    frame.write_csv(folder / "t.csv")
    frame.write_csv(folder / "t.tsv", separator="\t")
    frame.write_parquet(folder / "t.parquet")
    frame.write_ndjson(folder / "t.jsonl")
    files = {suffix: folder / f"t.{suffix}" for suffix in ("csv", "tsv", "parquet", "jsonl")}
    return {**files, "mapping": table, "polars": frame, "dicts": frame.to_dicts()}


def check_rows_of_a_unit(data: Any, name: str) -> None:
    with pytest.raises(PolicyError, match=f"40 values of '{name}'.*unit='row'"):
        analyse_experiment(data, "clicks/pages")
    by_unit = analyse_experiment(data, "clicks/pages", unit=name)
    by_row = analyse_experiment(data, "clicks/pages", unit="row")
    assert (by_unit.units.tolist(), by_row.units.tolist()) == ([20, 20], [120, 120])
    assert by_unit.error[0, 0] > by_row.error[0, 0]


@pytest.mark.parametrize(
    "name",
    ["user", "user_id", "visitor", "Client ID", "customer", "account", "fullVisitorId", "cookie",
     "user_pseudo_id", "participant", "session", "email"],
)  # fmt: skip
def test_rows_of_a_unit_are_refused(name: str) -> None:
    table = sessions(name)
    if name == "email":
        table[name] = [f"{one}@example.org" for one in table[name]]
    check_rows_of_a_unit(table, name)


def test_rows_of_a_unit_are_refused_by_every_reader(tmp_path: Path) -> None:
    for data in forms(sessions("user"), tmp_path).values():
        check_rows_of_a_unit(data, "user")


def test_aa_tests_refuse_rows_of_a_unit_too() -> None:
    with pytest.raises(PolicyError, match="'user'"):
        simulate_aa_tests(sessions("user"), "clicks", n_tests=10)
    assert simulate_aa_tests(sessions("user"), "clicks", unit="row", n_tests=10).n_units == 240


def test_ids_that_do_not_repeat_and_columns_that_cross_variants_are_no_units() -> None:
    random = np.random.default_rng(3)
    users = {
        "user": [f"u{k}" for k in range(200)],
        "variant": ["a", "b"] * 100,
        "x": random.normal(size=200),
        "sessions": random.poisson(3, 200),
        "bucket": [f"b{k % 20}" for k in range(200)],
        "device": random.choice(["phone", "desk"], 200),
        "revenue": random.poisson(1, 200),
    }
    with pytest.warns(CranfieldWarning, match="'bucket' is not used, but each of its values"):
        assert analyse_experiment(users, "x").units.tolist() == [100, 100]
    clusters = {name: column for name, column in users.items() if name != "user"}
    with pytest.raises(PolicyError, match="200 rows of 20 values of 'bucket'"):
        analyse_experiment(clusters, "x")
    both = {**users, "user_id": users["user"], "user": users["bucket"]}
    with pytest.raises(PolicyError, match="200 rows of 20 values of 'user'"):
        analyse_experiment(both, "x")
    no_ids = {name: users[name] for name in ("variant", "x", "device", "revenue")}
    assert analyse_experiment(no_ids, "x").units.tolist() == [100, 100]
    equal = {**no_ids, "weight": [2] * 200}
    assert analyse_experiment(equal, "x").units.tolist() == [100, 100]
    # A column called row is a column.
    rows = {**no_ids, "row": [str(k // 2 * 2 + k % 2) for k in range(200)]}
    assert analyse_experiment(rows, "x", unit="row").unit == "row"


AABB = {"variant": [*"aabb"]}
DAYS = {"date": [f"2026-05-0{day}" for day in (1, 2, 3, 4)] * 2, "variant": ["a"] * 4 + ["b"] * 4}
COUNTRIES = {"country": ["ca", "ca", "us", "us"] * 2, "device": ["phone", "desk"] * 4}
COUNTRIES["variant"] = DAYS["variant"]
WEEKS = {"week": [1, 2, 3, 1, 2], "variant": ["a", "a", "a", "b", "b"]}
SUCCESS = {"success": [50, 60, 40, 30, 55, 66, 44, 33], "total": [500] * 8}
USERS = [90, 80, 70, 95]
RATE = {"rate": [0.1, 0.2, 0.3, 0.4]}
TOTALS: dict[str, tuple[dict[str, Any], str]] = {
    "'date'": (DAYS | {"orders": [5, 6, 7, 5, 8, 9, 7, 8]}, "orders"),
    "'country' and 'device'": (COUNTRIES | SUCCESS, "success/total"),
    "'week'": (WEEKS | {"x": [1, 2, 3, 4, 5]}, "x"),
    "'users'": (AABB | {"buys": [5, 6, 7, 8], "users": USERS}, "buys/users"),
    "'n_users'": (AABB | RATE | {"n_users": USERS}, "rate"),
    "'weight'": (AABB | RATE | {"weight": [0.5, 1.5, 2, 1]}, "rate"),
    "'Impression'": (AABB | {"clicks": [5, 6, 7, 8], "Impression": USERS}, "clicks"),
    "'# of Impressions'": (AABB | {"clicks": [5, 6, 7, 8], "# of Impressions": USERS}, "clicks"),
    "'Reach'": (AABB | {"clicks": [5, 6, 7, 8], "Reach": USERS}, "clicks"),
    "'Impressions'": (AABB | {"clicks": [5, 6, 7, 8], "Impressions": USERS}, "clicks"),
}


@pytest.mark.parametrize("named", TOTALS)
def test_totals_of_many_units_are_refused(named: str, tmp_path: Path) -> None:
    table, metric = TOTALS[named]
    for data in forms(table, tmp_path).values() if named == "'date'" else [table]:
        with pytest.raises(PolicyError, match=f"{named}.*unit='row'"):
            analyse_experiment(data, metric)
    assert analyse_experiment(table, metric, unit="row").units.sum() == len(table["variant"])


@pytest.mark.parametrize("name", ["weight", "currency", "experiment_id", "Exposed"])
def test_columns_that_change_what_a_unit_means(name: str) -> None:
    units = {"user": list("stuv"), "variant": list("aabb"), "x": [1, 2, 3, 4]}
    with pytest.raises(InputError, match=f"column '{name}' .'1', '2'. may be the .* of rows"):
        analyse_experiment({**units, name: [1, 1, 2, 1]}, "x")
    assert analyse_experiment({**units, name: [1] * 4}, "x").units.sum() == 4
    assert analyse_experiment({**units, name: [1, 1, 2, 1]}, "x", segments=[name]).units.sum() == 4


BUCKET = {"bucket": ["a", "b"] * 2, "value": [1, 2, 3, 4]}
PAIRS = {"user": [f"u{k // 2}" for k in range(20)], "variant": ["a", "b"] * 10, "x": range(20)}
SLASH = {"variant": ["a", "b"] * 2, "clicks/view": [1, 2, 3, 4]}
LISTS = [{"user": "u0", "variant": "a", "x": 1}, {"user": ["u9"], "variant": "b", "x": 1}]


@pytest.mark.parametrize(
    ("table", "metric", "options", "reason"),
    [
        (BUCKET, "value", {}, "are in 'bucket', set variant='bucket'"),
        ({"group": BUCKET["bucket"], "value": [*"1234"]}, "value", {}, "set variant='group'"),
        ({"Control": [1, 2], "Treatment": [2, 3]}, "Control", {}, "one column, got a column 'Con"),
        (BUCKET, "cost", {}, "has no cost column; columns: 'bucket', 'value'$"),
        (SLASH, "clicks/view", {}, "'clicks/view' is read as a ratio: rename the column"),
        ({"variant": ["a", "b"], "x": [4, 5]}, "x", {}, "got one row per variant, so rows seem to"),
        (LISTS, "x", {}, "expected text or a number in 'user', got "),
        (PAIRS, "x", {}, "so 'user' was not randomised; set unit='row' if"),
        (TOTALS["'date'"][0], "orders", {"unit": "date"}, "'date': 4 of 4 units in more than one"),
    ],
)
def test_refused(table: Any, metric: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises((InputError, PolicyError), match=reason):
        analyse_experiment(table, metric, **options)


@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_unit_has_the_time_and_the_segment_of_its_earliest_row(kind: str) -> None:
    days = [3, 1, 2, 2, 1, 3, 4, 4]
    device = ["desk", "phone", "desk", "desk", "desk", "phone", "desk", "desk"]
    table = {"user": [*"ppqqrrss"], "variant": [*"aabbaabb"], "x": range(8), "device": device}
    table["day"] = days if kind == "number" else [f"2026-05-0{k}" for k in days]
    found = analyse_experiment(table, "x", unit="user", time="day", segments=["device"])
    assert found.segments is not None
    of = {row["level"]: row["units"] for row in found.segments.to_dicts()}
    assert of == {"desk": 3, "phone": 1}
    assert any("2 units with several values of device" in note for note in found.notes)
    if kind == "text":
        by_day = found.sample_ratios.filter(pl.col("by") == "day")
        assert by_day["level"].to_list() == ["2026-05-01", "2026-05-02", "2026-05-04"]
        assert by_day["units"].to_list() == [2, 1, 1]


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_column_of_a_metric_may_be_a_segment(missing: str) -> None:
    counts = [k % 3 + 1 for k in range(60)]
    columns = {"clicks": [float(k % 7) for k in range(60)], "pages": counts, "before": range(60)}
    table = {"variant": [*"ab"] * 30, **columns, "device": [str(count) for count in counts]}
    metric = {"ctr": Metric("clicks/pages", covariate="before/pages")}
    reports = [
        analyse_experiment(table, metric, segments=[name], missing=missing)
        for name in ("pages", "device")
    ]
    frames = [report.segments for report in reports]
    assert frames[0] is not None and frames[1] is not None
    assert frames[0]["level"].to_list() == ["1", "2", "3"]
    assert frames[0].drop("segment").equals(frames[1].drop("segment"))
    for name in ("clicks", "before"):
        levels = analyse_experiment(table, metric, segments=[name]).segments
        assert levels is not None and levels["units"].sum() == 60


def test_looks_go_by_the_earliest_time_of_a_unit() -> None:
    random = np.random.default_rng(4)
    first = pl.DataFrame(
        {"user": range(200), "variant": ["a", "b"] * 100, "x": random.normal(size=200)}
    ).with_columns(time=pl.col("user"))
    # A later row of each user, put before the first one, changes neither sums nor order.
    later = first.with_columns(x=pl.lit(0.0), time=pl.lit(1000) - pl.col("user"))
    how: dict[str, Any] = {"unit": "user", "sequential": "CS(tuned=100)", "looks": [50, 100]}
    one = analyse_experiment(first, "x", time="time", **how)
    two = analyse_experiment(pl.concat([later, first]), "x", time="time", **how)
    assert one.looks is not None and two.looks is not None
    assert one.looks["difference"].to_list() == pytest.approx(two.looks["difference"].to_list())


@pytest.mark.filterwarnings("ignore:blanks around")
def test_blanks_around_names_are_removed(tmp_path: Path) -> None:
    table: dict[str, list[Any]] = {
        "user": ["p", " p", "q ", "q", "r", "s"],
        "variant": ["a", "a ", "b", " b", "a", "b"],
        "x": [1, 2, 3, 4, 5, 6],
        "device": ["desk", "desk ", "desk", "desk", "phone", "phone"],
    }
    for data in forms(table, tmp_path).values():
        found = analyse_experiment(data, "x", unit="user", segments=["device"])
        assert found.variants == ("a", "b")
        assert found.units.tolist() == [2, 2]
        assert found.segments is not None
        assert found.segments["level"].to_list() == ["desk", "phone"]
    table = {name: [*values, values[0]] for name, values in table.items()} | {"x": [*range(1, 8)]}
    for user in ("  ", None):
        anonymous = {**table, "user": [*table["user"][:-1], user]}
        match = "column 'user' has no value in 1 row; missing='drop' excludes them"
        with pytest.raises(InputError, match=match):
            analyse_experiment(anonymous, "x", unit="user")
        dropped = analyse_experiment(anonymous, "x", unit="user", missing="drop")
        assert dropped.means.tolist() == found.means.tolist()
        assert "1 row excluded: no user" in dropped.notes


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_user_with_a_blank_is_the_user_without_it(blank: str) -> None:
    users = ["a", "b", "c", "d", f"a{blank}"]
    rows = [{"user": user, "variant": "xyxyx"[k], "m": k} for k, user in enumerate(users)]
    with pytest.raises(PolicyError, match="5 rows of 4 values of 'user'"):
        analyse_experiment(rows, {"m": "m"}, control="x")


@pytest.mark.parametrize("truth", [("True", "False"), (True, False)])
def test_truth_values_are_one_and_zero_and_may_name_variants(truth: Any, tmp_path: Path) -> None:
    table = {"treated": [True, False] * 20, "bought": [truth[k % 3 == 0] for k in range(40)]}
    numbers = {"treated": ["True", "False"] * 20, "bought": [int(k % 3 != 0) for k in range(40)]}
    known = analyse_experiment(numbers, "bought", variant="treated", control="False")
    for form, data in forms(table, tmp_path).items():
        # CSV of polars, and JSON, write truth values in small letters.
        control = "false" if form in {"csv", "tsv"} else "False"
        found = analyse_experiment(data, "bought", variant="treated", control=control)
        np.testing.assert_array_equal(found.means, known.means)
        assert found.units.tolist() == [20, 20]


@pytest.mark.parametrize("words", [("yes", "NO"), ("t", "f"), ("true", " FALSE")])
def test_words_for_truth_values_are_one_and_zero(words: tuple[str, str]) -> None:
    table = {"variant": ["a", "b"] * 3, "x": [words[k > 3] for k in range(6)]}
    assert analyse_experiment(table, "x").means.tolist() == [[2 / 3, 2 / 3]]


def daily_rows() -> pl.DataFrame:
    """Rows of 60 users by day, with a value of before the experiment in each row of a user."""
    random = np.random.default_rng(3)
    before, days = random.poisson(15, 60), random.integers(1, 5, 60)
    user = np.repeat(np.arange(60), days)
    return pl.DataFrame(
        {
            "user": user,
            "variant": np.where(user % 2, "treatment", "control"),
            "clicks": random.poisson(before[user] / 5),
            "before": before[user],
        }
    )


def test_a_covariate_in_all_rows_of_a_unit_is_taken_once() -> None:
    rows = daily_rows()
    users = rows.group_by("user", "variant", maintain_order=True).agg(
        pl.col("clicks").sum(), pl.col("before").first()
    )
    metric = Metric("clicks", covariate="before")
    by_row, by_user = (analyse_experiment(x, metric, unit="user") for x in (rows, users))
    assert by_row.to_polars().equals(by_user.to_polars())
    assert any("before is equal in all rows of each user" in note for note in by_row.notes)
    varied = rows.with_columns(before=pl.col("before") + pl.int_range(pl.len()) % 2)
    sums = varied.group_by("user", "variant", maintain_order=True).sum()
    summed = analyse_experiment(varied, metric, unit="user")
    assert summed.to_polars().equals(analyse_experiment(sums, metric, unit="user").to_polars())
    # A metric cannot be taken once, as rows with the same value may be meant.
    for name in ("before", "before/clicks"):
        with pytest.warns(CranfieldWarning, match="'before' is equal in all rows of each"):
            analyse_experiment(rows, name, unit="user")


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("variation", ["x", "y"], "columns of variants that contradict each other: 'variant'"),
        ("is_control", [1, 0], "columns of variants that contradict each other: 'variant'"),
        ("metric", ["clicks", "latency"], "may be the measure of rows"),
        ("goal_id", ["click", "order"], "may be the measure of rows"),
        ("ipw", [1.5, 3], "rows seem to be totals of many units"),
        ("n_obs", [20, 30], "rows seem to be totals of many units"),
        ("COUNT(*)", [20, 30], "rows seem to be totals of many units"),
        ("revenue_currency", ["EUR", "USD"], "may be the currency of rows"),
        ("experiment_key", ["a", "b"], "may be the experiment of rows"),
        ("is_outlier", [1, 0], "may be the status of rows"),
        ("test_account", [1, 0], "may be the status of rows"),
        ("in_experiment", [True, False], "may be the exposure of rows"),
        ("totalUsers", [20, 30], "rows seem to be totals of many units"),
        ("user", [None, "u1"], "'user' is empty in 3 rows: remove these rows, or set unit='row'"),
    ],
)
def test_columns_that_change_what_a_row_is(name: str, values: list[Any], reason: str) -> None:
    arms, value = ["control", "treatment"] * 3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    column = [values[k] for k in (0, 1, 1, 0, 0, 1)]
    if name == "user":
        column = [value and f"u{k}" for k, value in enumerate(column)]
    table = {"variant": arms, "value": value, name: column}
    with pytest.raises((InputError, PolicyError), match=reason):
        analyse_experiment(table, "value")
    analyse_experiment({"variant": arms, "value": value, "variation": ["x", "y"] * 3}, "value")


@pytest.mark.parametrize("values", [("click", "order"), ("pre", "post"), (True, False), (0, 1)])
def test_rows_of_several_metrics_or_periods_are_not_summed_silently(values: tuple[Any]) -> None:
    users = [f"u{k // 2}" for k in range(24)]
    arms = [("control", "new")[k // 2 % 2] for k in range(24)]
    table = {"user": users, "variant": arms, "value": [*range(24)], "step": [*values] * 12}
    with pytest.warns(CranfieldWarning, match="each user has one row for each value of 'step'"):
        analyse_experiment(table, "value", unit="user")
    # Days of all users are summed, and so are rows of which users have several or none.
    for column in (["2026-05-01", "2026-05-02", "2026-05-03"] * 8, [*values, *values[:1]] * 8):
        analyse_experiment({**table, "step": column}, "value", unit="user")


def test_clusters_of_two_columns_are_not_rows() -> None:
    random = np.random.default_rng(2)
    rows = [(city, f"2026-05-{day:02d}") for city in "pqrs" for day in range(1, 13)] * 5
    arm_of = dict(zip(rows[:48], random.permutation(["control", "new"] * 24), strict=True))
    table: dict[str, Any] = {
        "city": [row[0] for row in rows],
        "date": [row[1] for row in rows],
        "variant": [arm_of[row] for row in rows],
        "x": random.normal(size=len(rows)),
    }
    with pytest.raises(PolicyError, match="240 rows of 48 pairs of 'city' and 'date'.*unit='row'"):
        analyse_experiment(table, "x")
    assert analyse_experiment(table, "x", unit="row").units.tolist() == [120, 120]
    by_user = {**table, "variant": random.permutation(["control", "new"] * 120)}
    assert analyse_experiment(by_user, "x").units.tolist() == [120, 120]
    # A page that each variant has for itself makes no clusters.
    page = [f"{arm} page" for arm in by_user["variant"]]
    assert analyse_experiment({**by_user, "page": page}, "x").units.tolist() == [120, 120]


def test_the_margin_names_the_worse_direction() -> None:
    table = {"variant": ["control", "new"] * 4, "value": [1, 2, 3, 4, 5, 6, 7, 9]}
    for better, side in (("higher", "lower"), ("lower", "higher")):
        report = analyse_experiment(table, {"value": Metric("value", margin=2, better=better)})
        assert any(f"value is worse ({side}) by at least 2" in line for line in report.heading())


@pytest.mark.parametrize("name", ["date", "day", "hour"])
def test_times_in_one_variant_each(name: str) -> None:
    times = [k % 20 for k in range(200)]
    arms = ["control" if k % 2 else "new" for k in times]
    table = {"user_id": range(200), "variant": arms, name: times, "x": [k % 7 for k in range(200)]}
    with pytest.warns(CranfieldWarning, match=f"'{name}' is not used, but each of its"):
        analyse_experiment(table, "x")
    with pytest.raises(PolicyError, match=f"200 rows of 20 values of '{name}'"):
        analyse_experiment({k: v for k, v in table.items() if k != "user_id"}, "x")


def test_rows_that_occur_twice_are_reported() -> None:
    users = [*range(40), *range(6)]
    arms = ["control" if k % 2 else "new" for k in users]
    table = {"user": users, "variant": arms, "x": [k % 3 for k in users]}
    with pytest.warns(CranfieldWarning, match="6 rows summed with another row that is equal"):
        analyse_experiment(table, "x", unit="user")
    # Events of a user may be equal.
    events = {name: values * 3 for name, values in table.items()}
    events["x"] = [k // 5 % 3 for k in range(len(users) * 3)]
    analyse_experiment(events, "x", unit="user")


def test_labels_of_which_some_units_have_no_row() -> None:
    users = [f"u{k // 3}" for k in range(120) if k % 7]
    labels = [("purchase", "refund", "view")[k % 3] for k in range(120) if k % 7]
    arms = ["control" if int(user[1:]) % 2 else "new" for user in users]
    table = {"user": users, "variant": arms, "x": [k % 5 for k in range(len(users))]}
    with pytest.warns(CranfieldWarning, match="each user has at most one row for each value of"):
        analyse_experiment({**table, "event_name": labels}, "x", unit="user")
    numbers = [(50, 90, 99)[k % 3] for k in range(120) if k % 7]
    report = analyse_experiment({**table, "percentile": numbers}, "x", unit="user")
    assert "columns not used: 'percentile'" in report.notes


@pytest.mark.parametrize(
    "name", ["cumulative_revenue", "avg_position", "CTR", "bounceRate", "ctr_mobile", "score"]
)
def test_rates_are_not_summed(name: str) -> None:
    table = sessions("user") | {name: [2.5, 3.0] * 120}
    with pytest.raises(InputError, match=f"summed over the rows of each user, got '{name}'"):
        analyse_experiment(table, name, unit="user")
    renamed = table | {f"total_{name}": table[name]}
    summed = analyse_experiment(renamed, f"total_{name}", unit="user")
    assert summed.means.tolist() == [[6 * 2.75, 6 * 2.75]]
    # One row per user, and ratios of sums, have no sum of rates.
    analyse_experiment(pl.DataFrame(table)[::6], name, unit="user")
    ratio = analyse_experiment(table, f"{name}/pages", unit="user")
    assert ratio.means.tolist() == [[0.55, 0.55]]


def test_decimals_up_to_1_may_be_rates() -> None:
    table = sessions("user") | {"seen": [0.5, 1.0] * 120, "clicked": [0, 1] * 120}
    reason = "'seen' has values from 0 to 1, .* rows of each user"
    with pytest.warns(CranfieldWarning, match=reason):
        analyse_experiment(table, "seen", unit="user")
    analyse_experiment(table, "clicked", unit="user")


@pytest.mark.parametrize("unit", [None, "user"])
def test_a_last_row_with_the_sums_or_means_of_the_rows_above(unit: str | None) -> None:
    table = {"user": ["u1", "u2", "u3", "u4", "Kokku"], "variant": [*"ababa"]}
    for values in ([1, 2, 3, 4, 10], [1, 2, 2, 3.5, 2.125]):
        with pytest.raises(InputError, match="row 5: 'Kokku' seems to be a row of totals"):
            analyse_experiment(table | {"x": values}, "x", unit=unit)
        # Names of users without digits, or without a difference to the last.
        for names in (["u1", "u2", "u3", "u", "v"], ["u1", "u2", "u3", "u4", "u5"]):
            analyse_experiment(table | {"user": names, "x": values}, "x", unit=unit)
    for values in ([1, 2, 3, 4, 9], [1, 1, 1, 1, 1]):
        analyse_experiment(table | {"x": values}, "x", unit=unit)


@pytest.mark.parametrize("total", ["Total", "(all)", "Grand total", "SUM", "Summe", "Somme"])
def test_a_row_of_totals_is_not_a_unit(total: str) -> None:
    table = {"user": [*"uvwx", total], "variant": [*"abab", "a"], "x": [1, 2, 3, 4, 10]}
    for name in ("user", "name"):
        renamed = {name: table["user"], "variant": table["variant"], "x": table["x"]}
        with pytest.raises(InputError, match="row 5: .* seems to be a row of totals; remove it"):
            analyse_experiment(renamed, "x")
    with pytest.raises(InputError, match=".* seems to be a row of totals; remove it"):
        analyse_experiment(table, "x", unit="user")
    # A column with the same word in all rows is a label.
    analyse_experiment(table | {"user": ["all"] * 5}, "x", unit="row")
    analyse_experiment(table | {"user": [*"uvwx", "totals of 1"]}, "x")


def test_units_without_a_level_of_a_segment_are_counted() -> None:
    table = {"variant": ["control", "new"] * 15, "x": [*range(30)], "device": ["a", "b", ""] * 10}
    result = analyse_experiment(table, "x", segments=["device"])
    assert "10 rows excluded from the levels of device: no value" in result.notes
    assert result.sample_ratios["units"].to_list() == [10, 10]
    full = analyse_experiment(table | {"device": ["a", "b", "c"] * 10}, "x", segments=["device"])
    assert not any("in none of its levels" in note for note in full.notes)


def test_unused_labels_are_noted() -> None:
    table = {"variant": ["control", "treatment"] * 3, "value": [1, 2, 3, 4, 5, 6]}
    table |= {"revenue": [9, 8, 3.5, 4, 5, 6], "store": [*"aaabbc"], "name": [*"uvwxyz"]}
    table["period"] = ["pre", "pre", "post", "post", "pre", "post"]
    notes = analyse_experiment(table, "value").notes
    assert "columns not used: 'store', 'period'" in notes


def test_notes_on_ratios_and_covariates_that_cannot_be_computed() -> None:
    table = {"variant": ["control", "treatment"] * 20, "none": [0] * 40, "constant": [7] * 40}
    table |= {"x": [1, 2, 3, 5] * 10, "loss": [-1, -2, -3, -5] * 10}
    adjusted = Metric("x", covariate="constant")
    report = analyse_experiment(table, {"ratio": "x/none", "adjusted": adjusted, "loss": "loss"})
    assert report.verdicts[0] == ("undecided",) and np.isnan(report.pvalues[0]).all()
    assert {
        "ratio: no mean in control, treatment: a denominator is 0, or all values are missing",
        "adjusted: the covariate has no effect, because it is equal in all units",
        "loss of treatment: the mean of the control is below 0, so a positive lift is a decrease",
    } <= {*report.notes}


@pytest.mark.parametrize("errors", ["delta", "permutation"])
def test_no_interval_of_the_lift_to_zero(errors: str) -> None:
    """No success in ten units does not show that the lift is exactly -100%."""
    table = {"variant": ["control"] * 10 + ["treatment"] * 10, "x": [0, 1] * 5 + [0] * 10}
    for lift in ("log", "linear", "fieller") if errors == "delta" else ("log",):
        report = analyse_experiment(table, "x", errors=errors, lift=lift)
        assert report.lift[0, 0] == -1
        assert np.isnan([report.lift_low[0, 0], report.lift_high[0, 0]]).all()
        assert report.low[0, 0] < report.high[0, 0] < 0
        note = "x: no confidence interval of the lift, because the mean of treatment is 0"
        assert any(line.startswith(note) for line in report.notes)


def test_a_mean_of_zero_does_not_need_equal_values() -> None:
    table = {"variant": ["control"] * 10 + ["treatment"] * 10, "x": [1, 2] * 5 + [-1, 1] * 5}
    report = analyse_experiment(table, "x")
    assert np.isnan(report.lift_low[0, 0]) and not any("all values" in x for x in report.notes)
