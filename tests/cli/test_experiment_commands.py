"""`cranfield online experiment` and `cranfield online assign`."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact, ttest_ind

from cranfield.online.log.reading import simulated_log
from tests.cli.running import cranfield

USERS = str(Path(__file__).parents[1] / "data" / "online" / "users.csv")
CSV, JSON = ("--format", "csv"), ("--format", "json")


def ended(*arguments: str, status: int = 0) -> tuple[str, str]:
    """Run a command in a folder of its own, where its settings are written."""
    with TemporaryDirectory() as folder:
        return cranfield(Path(folder), "online", *arguments, status=status)


def said(*arguments: str) -> str:
    return ended(*arguments)[0]


def refused(*arguments: str) -> str:
    out, error = ended(*arguments, status=2)
    assert not out
    assert error.count("\n") == 1
    return error


def test_a_table_of_units() -> None:
    text = said(
        *("experiment", USERS, "--unit", "user", "--metric", "revenue"),
        *("--metric", "rate=orders/sessions", "--covariate", "revenue=revenue_covariate"),
        *("--oec", "revenue=0.5,rate=0.5"),
    )
    assert text.startswith("no sample ratio mismatch: 0 104 : 1 96")
    assert "0.3188" in text
    rows = said("experiment", USERS, "--metric", "revenue", "--format", "json")
    effects = json.loads(rows)["effects"]
    assert round(effects[0]["p"], 10) == 0.3868108266
    table = said(
        "experiment", USERS, "--metric", "revenue", "--table", "effects", "--format", "csv"
    )
    assert table.startswith("metric,variant,control mean")


def test_a_log(tmp_path: Path) -> None:
    log = simulated_log()
    paths = []
    for name in ("pages", "results", "clicks"):
        frame: pl.DataFrame = getattr(log, name)
        frame = frame.rename({"id": "page"}) if name == "pages" else frame
        if name != "pages":
            ids = pl.Series("page", log.pages["id"].gather(frame["page"]))
            frame = frame.with_columns(ids)
        paths.append(str(tmp_path / f"{name}.parquet"))
        frame.write_parquet(paths[-1])
    text = said("experiment", *paths, "-m", "CTR", "-m", "Abandonment", "--on-anomaly", "count")
    assert "control 164 : treatment 153" in text
    assert text.count("better") == 2
    for option, value in (("--variant", "arm"), ("--missing", "drop"), ("--segments", "user")):
        error = refused("experiment", *paths, "-m", "CTR", "--on-anomaly", "count", option, value)
        assert f"{option[2:]} requires a table of units, got a log" in error


def test_small_pvalues_of_a_complete_table() -> None:
    totals = ("experiment", "--counts", "control=500/10000,new=900/10000")
    for command in (totals, (*totals, "--table", "effects")):
        row = next(line for line in said(*command).splitlines() if line.startswith("proportion"))
        assert row.split()[-3:] == ["1e-28", "1e-28", "better"]


def test_every_output_names_the_control(tmp_path: Path) -> None:
    units, page = tmp_path / "u.csv", tmp_path / "page.html"
    units.write_text("variant,revenue\nnew,3\nold,1\nnew,4\nold,2\nnew,5\nold,2\n")
    command = ("experiment", str(units), "--metric", "revenue")
    assert "\ncontrol: old\n" in said(*command)
    assert "\ncontrol: old\n" in said(*command, "--format", "markdown")
    found = json.loads(said(*command, "--control", "new", "--report", str(page), *JSON))
    assert found["control"] == "new"
    assert "new (control)" in page.read_text()
    units.write_text(units.read_text().replace("old", "current"))
    error = refused(*command)
    assert "current, new; set which of them is the control: --control ..." in error


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("id,country\nu1,de\n", "expected one id per line, got 'id,country'; a table of several"),
        ("u1;de\nu2;fr\n", "expected one id per line, got 'u1;de'"),
        ('"u1"\n"u2"\n', "expected one id per line"),
        ("user_id\nu1\n", "got the name of a column, 'user_id'; remove this line"),
        ("uid\nu1\n", "got the name of a column, 'uid'"),
    ],
)
def test_lines_of_ids_are_not_rows_of_a_table(lines: str, reason: str, tmp_path: Path) -> None:
    units = tmp_path / "units.txt"
    units.write_text(lines)
    assert reason in refused("assign", str(units), "--name", "exp")
    units.write_text("u1 x\nuser-7\n")
    assert said("assign", str(units), "--name", "exp").count("\n") == 3


def test_the_named_unit_is_a_column(tmp_path: Path) -> None:
    table, settings = tmp_path / "units.csv", tmp_path / "settings.yml"
    table.write_text("user,session_id\nu1,s1\n")
    settings.write_text("unit: session\n")
    options = ("--name", "exp", "--settings", str(settings))
    assert "did you mean 'session_id'?" in refused("assign", str(table), *options)
    table.write_text("name,session_id\nu1,s1\n")
    hint = "use --settings with unit: ... to read another column"
    assert hint in refused("assign", str(table), "--name", "exp")
    settings.write_text("unit: session_id\n")
    assert said("assign", str(table), *options).startswith("session_id,variant\ns1,")


def test_assignment(tmp_path: Path) -> None:
    units = tmp_path / "units.txt"
    units.write_text("u1\nu2\n\nu 3\n")
    assert said("assign", str(units), "--name", "exp").splitlines()[:3] == [
        "user,variant",
        "u1,control",
        "u2,control",
    ]
    found = said("assign", USERS, "--name", "exp", "--check")
    assert "exp: uniform" in found
    rows = json.loads(said("assign", USERS, "--name", "e", "--traffic", "0-0.5", *JSON))
    assert len(rows) == 200
    assert any(row["variant"] is None for row in rows)


def test_what_is_refused() -> None:
    assert "two.csv" in refused("experiment", "two.csv", "--metric", "x")
    assert "-m MEASURE (for a log)" in refused("experiment", USERS)
    assert "has no x column" in refused("experiment", USERS, "--metric", "x")
    assert "did you mean 'orders'?" in refused("experiment", USERS, "--metric", "order")
    assert "[NAME=]A[/B], got '=orders'" in refused("experiment", USERS, "--metric", "=orders")
    assert "unknown metric 'y'" in refused(
        "experiment", USERS, "--metric", "orders", "--margin", "y=0.1"
    )
    for table, option in {"segments": "segments", "looks": "sequential"}.items():
        reason = f"--table {table} requires --{option}"
        assert reason in refused("experiment", USERS, "--metric", "revenue", "--table", table)
    assert "sum to 1" in refused("assign", USERS, "--name", "e", "--weights", "a=0.5,b=0.4")
    assert "would overwrite an input file" in refused("assign", USERS, "--name", "e", "-o", USERS)


def test_a_report(tmp_path: Path) -> None:
    page = tmp_path / "experiment.html"
    said("experiment", USERS, "--metric", "<i>x</i>=revenue", "--report", str(page))
    text = page.read_text()
    assert "No sample ratio mismatch: 0 104 : 1 96" in text
    assert "&lt;i&gt;x&lt;/i&gt;" in text
    assert "<i>" not in text
    assert "cranfield online experiment" in text
    assert "--metric &#x27;&lt;i&gt;x&lt;/i&gt;=revenue&#x27;" in text.replace("&#39;", "&#x27;")
    assert "SHA-256" in text
    page.unlink()
    assert "would overwrite an input file" in refused(
        "experiment", USERS, "--metric", "revenue", "--report", USERS
    )
    both = ("--report", str(page), "-o", str(page))
    assert "must differ" in refused("experiment", USERS, "--metric", "revenue", *both)
    refused("experiment", USERS, "--metric", "nothing", "--report", str(page))
    nowhere = ("--report", str(page), "-o", str(tmp_path / "no" / "file"))
    refused("experiment", USERS, "--metric", "revenue", *nowhere)
    refused("experiment", USERS, "--metric", "revenue", "--unit", "variant", "--report", str(page))
    assert not page.exists()


def test_a_report_on_a_log_has_the_hashes_of_its_tables(tmp_path: Path) -> None:
    folder, page = tmp_path / "log", tmp_path / "page.html"
    control = ("--control", "a", "--title", "Ship <B>?")
    folder.mkdir()
    pages = "".join(f"{k},q,u{k},{'ab'[k % 2]}\n" for k in range(40))
    (folder / "pages.csv").write_text(f"page,query,user,variant\n{pages}")
    (folder / "clicks.csv").write_text("page,rank\n" + "".join(f"{k},1\n" for k in range(0, 40, 3)))
    (folder / "notes.txt").write_text("not a table of the log")
    for data in ([str(folder)], [str(folder / f"{name}.csv") for name in ("pages", "clicks")]):
        said("experiment", *data, "-m", "UCTR", *control, "--report", str(page))
        text = page.read_text()
        digests = [sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())]
        assert [digest in text for digest in digests] == [True, False, True]
        assert "<title>Ship &lt;B&gt;?" in text
    refused("experiment", str(folder), "-m", "UCTR", "--title", "x")


def test_the_command_of_a_report_has_the_values_of_its_options(tmp_path: Path) -> None:
    units, page = tmp_path / "u.csv", tmp_path / "page.html"
    rows = [f"{'ab'[k % 2]},{'xy'[k // 20]},{k % 7},{k % 3}" for k in range(40)]
    units.write_text("\n".join(["variant,place,revenue,before", *rows]))
    options = "--metric revenue --covariate revenue=before --margin revenue=5% --segments place"
    said("experiment", str(units), *options.split(), "--report", str(page))
    text = page.read_text()
    for option in ("--covariate revenue=before", "--margin revenue=5%", "--segments place"):
        assert option in text


def test_a_report_is_not_written_over(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    same = f"{tmp_path}/./page.html"
    error = refused("experiment", USERS, "--metric", "orders", "--report", str(page), "-o", same)
    assert "must differ" in error
    assert not page.exists()


def test_columns_that_are_none_are_refused() -> None:
    for wrong in (("--segments", ""), ("--segments", "variant"), ("--unit", "variant")):
        assert "different columns" in refused("experiment", USERS, "--metric", "orders", *wrong)


def test_a_skewed_metric_of_an_unequal_split(tmp_path: Path) -> None:
    values = np.exp(2 * np.random.default_rng(7).normal(size=1000))
    units = tmp_path / "units.csv"
    variant = ["treatment"] * 100 + ["control"] * 900
    pl.DataFrame({"variant": variant, "revenue": values}).write_csv(units)
    command = ["experiment", str(units), "--metric", "revenue"]
    command += ["--weights", "control=0.9,treatment=0.1"]
    text = said(*command)
    assert "permutation test of Welch's statistic (2,000 permutations, seed 0)" in text
    assert "note: revenue: skewness 6.9 with 10% of the units in treatment" in text
    assert "undecided" in text
    found = json.loads(said(*command, *JSON))
    assert found["tests"] == {"revenue": {"treatment": "permutation"}}
    welch = said(*command, "--errors", "delta")
    assert "Welch's test by the delta method" in welch
    assert "skewness 6.9" in welch
    assert any(line.endswith("  worse") for line in welch.splitlines())
    _, told = ended(*command, "--errors", "delta", "--seed", "3")
    assert "setting seed has no effect" in told


@pytest.mark.parametrize(
    ("options", "is_used"),
    [
        (("-m", "CTR"), False),
        (("-m", "CTR", "-m", "Abandonment"), False),
        (("-m", "CTR", "--unit", "session"), True),
        (("-m", "CTR", "-m", "QueriesPerSession"), True),
        (("-m", "AbandonedLast"), True),
    ],
)
def test_a_session_timeout_without_effect(
    options: tuple[str, ...], is_used: bool, tmp_path: Path
) -> None:
    log = simulated_log()
    log.select_pages(pl.col("variant").is_not_null()).write(tmp_path)
    command = ("experiment", str(tmp_path), *options, "--session-timeout")
    (short, told), (long, _) = (ended(*command, timeout) for timeout in ("10s", "10h"))
    assert (short != long) == is_used
    assert ("setting session-timeout has no effect" in told) == (not is_used)


def test_margins_are_absolute_or_in_percent(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(10, 1, 200), random.normal(9.95, 1, 200)
    units = tmp_path / "units.csv"
    variant = ["control"] * 200 + ["new"] * 200
    pl.DataFrame({"variant": variant, "x": np.concatenate([x, y])}).write_csv(units)

    def tested(margin: str) -> float:
        out = said("experiment", str(units), "--metric", "x", "--margin", f"x={margin}", *JSON)
        return float(json.loads(out)["effects"][0]["noninferiority p"])

    by_number = ttest_ind(y + 0.3, x, equal_var=False, alternative="greater").pvalue
    by_percentage = ttest_ind(y, 0.97 * x, equal_var=False, alternative="greater").pvalue
    assert tested("0.3") == pytest.approx(by_number)
    assert tested("3%") == pytest.approx(by_percentage)
    wrong = ("experiment", str(units), "--metric", "x", "--margin", "x=-1")
    assert "margin" in refused(*wrong)


def test_what_does_not_vary_is_not_certain(tmp_path: Path) -> None:
    units = tmp_path / "units.csv"
    rows = "".join(f"{'new' if k % 2 else 'control'},{k % 2}\n" for k in range(40))
    units.write_text("variant,v\n" + rows)
    command = ("experiment", str(units), "--metric", "v")
    assert "no confidence interval of the difference" in said(*command)
    [row] = json.loads(said(*command, *JSON))["effects"]
    assert (row["low"], row["high"]) == (None, None)
    exact = fisher_exact([[20, 0], [0, 20]]).pvalue
    assert row["p"] == pytest.approx(exact, rel=1e-9)


def test_csv_of_several_tables_has_the_verdict(tmp_path: Path) -> None:
    units = tmp_path / "units.csv"
    rows = "".join(f"{'new' if k % 2 else 'control'},{k}\n" for k in range(40))
    units.write_text("variant,v\n" + rows)
    command = ("experiment", str(units), "--metric", "v")
    [row] = json.loads(said(*command, *JSON))["effects"]
    values = pl.read_csv(said(*command, "-f", "csv").encode()).filter(row="v, new")
    named = dict(zip(values["column"], values["value"], strict=True))
    assert named["verdict"] == row["verdict"]
    assert float(named["p"]) == row["p"]
