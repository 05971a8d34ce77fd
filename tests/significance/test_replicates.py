"""Replicates of systems: two designs, beside values of other programs and plain loops."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, variance
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import studentized_range, ttest_ind

import cranfield as cf
from cranfield.significance.replicates import compute_variance_proportions
from tests.cli.running import ended_with

SYSTEMS = ("A", "B", "C")
# By topic: three replicates of each of the three systems.
ROWS = [
    [[0.4421, 0.4274, 0.4277], [0.5155, 0.5022, 0.547], [0.3974, 0.47, 0.4265]],
    [[0.5857, 0.5616, 0.5978], [0.4975, 0.5107, 0.4889], [0.5829, 0.6347, 0.5923]],
    [[0.4782, 0.524, 0.4916], [0.6705, 0.6711, 0.6409], [0.5226, 0.5701, 0.5971]],
    [[0.5747, 0.5993, 0.6155], [0.5426, 0.5958, 0.6076], [0.5971, 0.5997, 0.5976]],
    [[0.7466, 0.6845, 0.679], [0.67, 0.6247, 0.6054], [0.5901, 0.6277, 0.6307]],
]
TOPICS = tuple(f"t{k + 1}" for k in range(5))
SCORES = cf.Scores(np.array(ROWS), TOPICS, SYSTEMS, axis="replicate")
SHARDS = cf.Scores(SCORES.values, TOPICS, SYSTEMS)
SINGLE = SCORES.select(shards="1")
MEANS = SCORES.average_shards()
BOTH = ("independent-replicates", "shared-replicates")

# NumPy and SciPy 1.17.1 by hand; sums of squares by statsmodels 0.15.0.
INDEPENDENT = {
    "Topic": (0.1695414676, 4, 3.989461362, 0.04555776178),
    "System": (0.002874176444, 2, 0.1352638506, 0.8754413693),
    "Topic:System": (0.08499466578, 8, 15.81670412, 7.791132273e-09),
    "Error": (0.02015148, 30, None, None),
}
SHARED = {
    "System": (0.002874176444, 2, 0.132941162, 0.8773641732),
    "System:Replicate": (0.004921289333, 6, None, None),
    "Topic:System": (0.08499466578, 8, None, None),
    "Error": (0.01523019067, 24, None, None),
}
COMPONENTS = {
    "Topic": 0.003529003741,
    "System": -0.000612483,
    "Topic:System": 0.003317539074,
    "Replicate": 0.000671716,
}
PAIRS = {
    ("A", "B"): (-0.01698, 0.8952863921, -0.3580114813, 0.7384280285),
    ("A", "C"): (-5.333333333e-05, 0.9999988929, -0.0021468836, 0.9983898388),
    ("B", "C"): (0.01692666667, 0.8958989509, 0.4551361116, 0.6726203834),
}


@pytest.mark.parametrize(
    ("test", "expected"), [("independent-replicates", INDEPENDENT), ("shared-replicates", SHARED)]
)
def test_table(test: str, expected: dict[str, tuple[float | None, ...]]) -> None:
    anova = cf.compare(SCORES, test=test, correction="tukey").anova
    assert anova is not None
    rows = {source: (ss, df, f, p) for source, ss, df, _, f, p, _ in anova.to_polars().rows()}
    for source, values in expected.items():
        for value, number in zip(rows[source], values, strict=True):
            if number is not None:
                assert value == pytest.approx(number, rel=1e-8), source


def test_independent_replicates_by_pair() -> None:
    comparison = cf.compare(SCORES, test="independent-replicates", correction="tukey")
    assert comparison.anova is not None
    assert comparison.anova.components == pytest.approx(COMPONENTS, rel=1e-8)
    np.testing.assert_allclose(comparison.means, [0.56238, 0.57936, 0.5624333333], rtol=1e-9)
    # It is the analysis of variance of means.
    flat = cf.compare(MEANS, test="anova-2", correction="tukey")
    np.testing.assert_allclose(comparison.interval, flat.interval, rtol=1e-12)
    for names, (difference, tukey, t, p) in PAIRS.items():
        pair = comparison[names]
        assert (pair.difference, pair.pvalue) == pytest.approx((difference, tukey), rel=1e-7)
        two = cf.compare(SCORES.select(systems=names), test="independent-replicates")
        assert (two.statistic[0], two.raw_pvalues[0]) == pytest.approx((t, p), rel=1e-7)


def test_shared_replicates() -> None:
    comparison = cf.compare(SCORES, test="shared-replicates")
    assert (comparison.correction, comparison.resamples) == ("tukey", None)
    assert comparison.anova is not None
    # sqrt(2 * denominator / 15), with 8.20700773 degrees of freedom.
    half_width = (comparison["A", "B"].interval[1] - comparison["A", "B"].interval[0]) / 2
    quantile = half_width / np.sqrt(2 * 0.01080995683 / 15)
    assert quantile == pytest.approx(studentized_range.ppf(0.95, 3, 8.20700773) / 2**0.5, rel=1e-6)
    ms = dict(zip(comparison.anova.sources, comparison.anova.ms, strict=True))
    expected = (ms["System:Replicate"] - ms["Error"]) / 5
    assert comparison.anova.components["System:Replicate"] == pytest.approx(expected)


def test_labels_of_replicates_do_not_matter() -> None:
    values = np.full((5, 3, 9), np.nan)
    for k in range(3):
        values[:, k, 3 * k : 3 * k + 3] = SCORES.values[:, k]
    apart = cf.Scores(values, TOPICS, SYSTEMS, axis="replicate")
    for test in BOTH:
        first, second = (cf.compare(s, test=test, correction="tukey") for s in (SCORES, apart))
        np.testing.assert_allclose(first.adjusted_pvalues, second.adjusted_pvalues, rtol=1e-12)
        assert first.anova is not None and second.anova is not None
        assert first.anova.components == pytest.approx(second.anova.components, rel=1e-10)


def unequal() -> cf.Scores:
    values = SCORES.values.copy()
    values[:, 2, 2] = np.nan
    values[3, 0, 1:] = np.nan
    return cf.Scores(values, TOPICS, SYSTEMS, axis="replicate")


def test_unequal_numbers_of_replicates() -> None:
    scores = unequal()
    comparison = cf.compare(
        scores, test="independent-replicates", correction="tukey", missing="available"
    )
    cells = [[[x for x in row if x == x] for row in topic] for topic in scores.values.tolist()]
    counts = [len(cell) for topic in cells for cell in topic]
    within = sum((len(c) - 1) * variance(c) for t in cells for c in t if len(c) > 1)
    error = within / sum(n - 1 for n in counts)
    harmonic = len(counts) / sum(1 / n for n in counts)
    means = [[mean(cell) for cell in topic] for topic in cells]
    of_topic = [mean(row) for row in means]
    of_system = [mean(column) for column in zip(*means, strict=True)]
    grand = mean(of_topic)
    interaction = sum(
        (means[i][k] - of_topic[i] - of_system[k] + grand) ** 2 for i in range(5) for k in range(3)
    )
    interaction *= harmonic / 8
    anova = comparison.anova
    assert anova is not None
    assert anova.components["Replicate"] == pytest.approx(error, rel=1e-10)
    assert anova.components["Topic:System"] == pytest.approx((interaction - error) / harmonic)
    assert anova.get_f("System")[0] == pytest.approx(
        harmonic * 5 * variance(of_system) / interaction, rel=1e-10
    )
    np.testing.assert_allclose(comparison.means, of_system)
    assert any("numbers of replicates differ, 1 to 3" in note for note in comparison.notes)
    dropped = cf.compare(scores, test="independent-replicates", missing="drop")
    assert (dropped.n_topics, dropped.notes[0]) == (
        4,
        "1 topic excluded: no score of some systems",
    )
    zero = cf.compare(scores, test="independent-replicates", missing="zero")
    assert zero.means[0] == pytest.approx(
        SCORES.mean_along(2)[:3, 0].sum() / 5 + 0.5747 / 15 + (SCORES.mean_along(2)[4, 0] / 5)
    )


def test_deterministic_systems() -> None:
    values = np.repeat(SCORES.values[:, :, :1], 2, axis=2)
    flat = cf.compare(SINGLE.average_shards(), test="anova-2", correction="tukey")
    for test in BOTH:
        same = cf.Scores(values, TOPICS, SYSTEMS, axis="replicate")
        comparison = cf.compare(same, test=test, correction="tukey")
        assert any("the systems are deterministic" in note for note in comparison.notes)
        np.testing.assert_allclose(comparison.adjusted_pvalues, flat.adjusted_pvalues, rtol=1e-10)


def compared(scores: cf.Scores, options: str) -> cf.PairwiseComparison:
    """Compare by a test, with a correction and a policy for missing scores if any."""
    names: Any = zip(("test", "correction", "missing"), options.split(), strict=False)
    return cf.compare(scores, **dict(names))


# Every topic and every seed has the same mean: only the residuals vary.
ODD = np.array([[1.0, -1.0], [-1.0, 1.0]])
NO_ERROR = cf.Scores(
    np.stack([ODD, 2 * ODD], axis=1) / 10 + 0.5, ("1", "2"), ("a", "b"), axis="replicate"
)

# The same difference on every topic: with 2 topics, the replicates vary only within topic 1.
EQUAL = {
    len(rows): cf.Scores(
        np.array([[row, np.array(row) - 0.1] for row in rows]),
        tuple(map(str, range(len(rows)))),
        ("a", "b"),
        axis="replicate",
    )
    for rows in ([[0.5, 0.6], [0.7, 0.7]], [[0.41, 0.42, 0.43], [0.51, 0.52, 0.53], [0.6] * 3])
}


@pytest.mark.parametrize("topics", [2, 3])
@pytest.mark.parametrize("correction", ["bootstrap-tukey", "tukey", "holm"])
def test_equal_differences_of_independent_replicates(topics: int, correction: str) -> None:
    found = cf.compare(EQUAL[topics], test="independent-replicates", correction=correction)
    assert found.raw_pvalues[0] == found.adjusted_pvalues[0] == 2.0 ** (1 - topics)
    assert np.isinf(found.interval).all()
    assert any("p-values are from exact sign flips" in note for note in found.notes)


def test_equal_differences_of_shared_replicates() -> None:
    """Only the replicates vary: by hand, the two-sample t-test of their means."""
    values = 0.1 * np.arange(3)[:, None, None] + 0.01 * np.arange(3) + np.array([[[0.3], [0.2]]])
    scores = cf.Scores(values, ("1", "2", "3"), ("a", "b"), axis="replicate")
    found = cf.compare(scores, test="shared-replicates")
    expected = ttest_ind(*values.mean(axis=0)).pvalue
    assert (found.raw_pvalues[0], found.adjusted_pvalues[0]) == pytest.approx((expected, expected))
    assert not any("without any variation" in note for note in found.notes)
    assert found.n_without_interval == 0


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (SCORES, "", "require a choice of test: independent-replicates if"),
        *(
            (SCORES, test, "does not take scores by replicate; use indep")
            for test in ("anova-2", "t", "random-topics", "bootstrap-anova")
        ),
        (SCORES, "shared-replicates bootstrap-tukey", "'bootstrap-tukey' cannot be combined"),
        (MEANS, "shared-replicates", "requires scores by replicate"),
        (SHARDS, "independent-replicates", "does not take scores by shard; use random-topics"),
        (unequal(), "shared-replicates tukey available", "combined with shared-replicates"),
    ],
)
def test_refused_options(scores: cf.Scores, options: str, message: str) -> None:
    with pytest.raises(cf.PolicyError, match=message):
        compared(scores, options)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (SINGLE, "independent-replicates", "several replicates of a system, got one of each"),
        (SINGLE, "shared-replicates", "ignores the variation between replicates"),
        (unequal(), "independent-replicates", "'A' on topic 't4' in replicate 2 has no score"),
        (unequal(), "shared-replicates tukey drop", "same number .* of each system, got 2 to"),
        (NO_ERROR, "shared-replicates", "denominator of F is too small"),
        (EQUAL[2], "shared-replicates", "denominator of F is too small"),
    ],
)
def test_refused_scores(scores: cf.Scores, options: str, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        compared(scores, options)


def test_replicates_are_an_axis() -> None:
    with pytest.raises(cf.PolicyError, match="replicates are neither topics nor systems"):
        SCORES.to_polars()
    with pytest.raises(cf.PolicyError, match="axis"):
        cf.Scores(SCORES.values, TOPICS, SYSTEMS, axis="seed")


def test_summaries_average_replicates() -> None:
    note = "scores are means over replicates"
    assert note in cf.summarise(SCORES).notes
    assert note in cf.cost_effectiveness(SCORES, {"A": 1, "B": 2, "C": 3}, resamples=10).notes
    grid = {name: {"stem": name} for name in SYSTEMS}
    assert note in cf.factorial_anova(SCORES, grid).notes
    np.testing.assert_allclose(cf.summarise(SCORES).mean, [0.56238, 0.57936, 0.5624333333])


def test_shares_of_variance() -> None:
    shares = compute_variance_proportions(COMPONENTS)
    total = 0.003529003741 + 0.003317539074 + 0.000671716
    assert shares["System"] == 0
    assert shares["Replicate"] == pytest.approx(0.000671716 / total)


def test_summary_beside_a_loop() -> None:
    for scores in (SCORES, unequal()):
        frame = cf.summarise_replicates(scores).to_polars()
        for k, row in enumerate(frame.iter_rows(named=True)):
            cells = [[x for x in topic[k] if x == x] for topic in scores.values.tolist()]
            means = [mean(cell) for cell in cells]
            within = sum((len(c) - 1) * variance(c) for c in cells if len(c) > 1)
            within /= sum(len(c) - 1 for c in cells)
            between = variance(means) - within * mean(1 / len(c) for c in cells)
            assert row["mean"] == pytest.approx(mean(means))
            assert row["within"] == pytest.approx(within)
            assert row["between topics"] == pytest.approx(between)
            assert row["intraclass"] == pytest.approx(between / (between + within))
    assert frame["replicates"].to_list() == [3, 3, 2]
    seeds = SCORES.values.mean(axis=0)
    np.testing.assert_allclose(cf.summarise_replicates(SCORES).SD, seeds.std(axis=1, ddof=1))


def test_replicates_without_a_score_for_every_topic() -> None:
    values = SCORES.values.copy()
    values[0, 1, 2] = np.nan
    found = cf.summarise_replicates(cf.Scores(values, TOPICS, SYSTEMS, axis="replicate"))
    assert found.notes == (
        "B: lowest, highest and SD exclude 1 of 3 replicates, which lack scores of some topics",
    )


def test_names_and_tables_of_runs(tmp_path: Path) -> None:
    runs = {
        f"{name}@s{k + 1}": SCORES.values[:, i, k].tolist()
        for i, name in enumerate(SYSTEMS)
        for k in range(3)
    }
    folded = cf.group_replicates(runs)
    np.testing.assert_array_equal(folded.values, SCORES.values)
    assert (folded.systems, folded.axis) == (SYSTEMS, "replicate")
    assert folded.shards == ("s1", "s2", "s3")
    assert cf.group_replicates(folded) is folded
    renamed = dict(zip("pqrstuvwx", runs.values(), strict=True))
    rows = [f"{run},{name.replace('@', ',')}" for run, name in zip(renamed, runs, strict=True)]

    def table(*rows: str) -> Path:
        path = tmp_path / "runs.csv"
        path.write_text("\n".join(["run,system,replicate", *rows]) + "\n")
        return path

    np.testing.assert_array_equal(cf.group_replicates(renamed, table(*rows)).values, SCORES.values)
    with pytest.warns(cf.CranfieldWarning, match="1 row ignored"):
        cf.group_replicates(renamed, table(*rows, "y,A,s1"))
    for kind, message, refused, lines in (
        (cf.PolicyError, "expected runs named SYSTEM@REPLICATE", renamed, None),
        (cf.PolicyError, "got scores also by replicate", folded, rows),
        (cf.PolicyError, "run 'p' is not in", renamed, rows[1:]),
        (cf.InputError, "runs.csv:11: run 'p' occurs twice", renamed, [*rows, "p,A,s9"]),
        (cf.InputError, "are replicate 's1' of system 'A'", renamed, [*rows[:-1], "x,A,s1"]),
    ):
        with pytest.raises(kind, match=message):
            cf.group_replicates(refused, None if lines is None else table(*lines))


def test_score_tables_with_replicates(tmp_path: Path) -> None:
    path, long = tmp_path / "scores.csv", SCORES.to_long()
    long.write_csv(path)
    read = cf.read_scores(path)
    assert (read.axis, read.labels.keys()) == ("replicate", SCORES.labels.keys())
    np.testing.assert_array_equal(read.values, SCORES.values)
    np.testing.assert_array_equal(cf.read_scores(long).values, SCORES.values)
    assert cf.read_scores([SCORES]).axis == "replicate"
    shards = cf.Scores(SCORES.values, TOPICS, ("d", "e", "f"))
    for scores, message in (
        ([SCORES, shards], "by replicate, as in scores, got shards"),
        (pl.concat([long, long.head(1)]), "'A' has two scores in replicate '1'"),
        (long.with_columns(shard=pl.lit("x")), "by shard or by replicate, got columns"),
    ):
        with pytest.raises(cf.InputError, match=message):
            cf.read_scores(scores)


def test_commands(tmp_path: Path) -> None:
    SCORES.to_long().write_csv(tmp_path / "scores.csv")
    columns = {
        f"{name}@s{k}": SCORES.select(systems=name, shards=k).values.ravel()
        for name in SYSTEMS
        for k in "123"
    }
    pl.DataFrame({"topic": TOPICS, **columns}).write_csv(tmp_path / "wide.csv")
    for call, status, output, error in (
        ("evaluate --scores scores.csv", 2, "", "neither topics nor systems"),
        ("evaluate --scores scores.csv --as replicates", 0, "A                3  0.5624", ""),
        ("compare --scores scores.csv", 2, "", "require a choice of test: independent-replicates"),
        (
            "compare --scores scores.csv --test shared-replicates --as anova",
            *(0, "0.01081 with 8.2 degrees of freedom", ""),
        ),
        ("compare --scores wide.csv", 0, "", "'A@s1' and 'A@s2' are compared as systems"),
        ("compare --scores wide.csv -t independent-replicates", 0, "", ""),
    ):
        ended, out, err = ended_with(tmp_path, *call.split())
        assert ended == status, call
        assert output in out and error in err, call
        assert bool(err) == bool(error) and bool(out) == (status == 0), call


@pytest.mark.parametrize("correction", ["tukey", "holm"])
@pytest.mark.parametrize("test", BOTH)
def test_paragraph_and_marks(test: str, correction: str, tmp_path: Path) -> None:
    comparison = cf.compare(SCORES, test=test, correction=correction)
    assert comparison.prose().startswith("Three systems were compared")
    SCORES.to_long().write_csv(tmp_path / "scores.csv")
    command = ("compare", "--scores", "scores.csv", "--test", test, "--marks", "groups")
    status, out, err = ended_with(tmp_path, *command, "--correction", correction)
    assert status == 0, err
    for system, value in zip(SYSTEMS, SCORES.values.mean(axis=(0, 2)), strict=True):
        assert f"\n{system} " in out and f"{value:.4f}" in out


def test_paragraph_of_scores_by_shard() -> None:
    for test in ("random-topics", "anova-3"):
        assert "We assume" in cf.compare(SHARDS, test=test, correction="tukey").prose()
