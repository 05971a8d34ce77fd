"""Prediction-powered scores of answers against the plain formula, and against all labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.assess import ppi_answers, ppi_mean
from cranfield.base.errors import CranfieldError, InputError
from tests.cli.running import cranfield

TOPICS = [f"q{k}" for k in range(40)]
NUGGETS = {topic: dict.fromkeys(["a", "b", "c", "d"], 1) for topic in TOPICS}


def answers(seed: int, topics: list[str], errors: float = 0.0) -> dict[str, Any]:
    """Return the nuggets of the answers of two systems, with errors of a judge."""
    truth, wrong = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    table: dict[str, Any] = {"x": {}, "y": {}}
    for topic in TOPICS:
        for system, rate in (("x", 0.7), ("y", 0.4)):
            has = (truth.random(4) < rate) ^ (wrong.random(4) < errors)
            names = [name for name, is_there in zip("abcd", has, strict=True) if is_there]
            if topic in topics:
                table[system][topic] = {"nuggets": names, "length": 500}
    return table


def judged(topics: list[str], errors: float) -> Any:
    with cf.base.errors.collect_warnings():
        return cf.texts.judge_answers(answers(5, topics, errors), NUGGETS)


@pytest.mark.parametrize("measure", ["NuggetRecall", "NuggetPrecision", "AllScore"])
def test_the_estimate_is_that_of_the_formula(measure: str) -> None:
    sample = TOPICS[3:15]
    human, judge = judged(sample, 0.0), judged(TOPICS, 0.2)
    result = ppi_answers(human, judge, measure, lambda_=1.0)
    by_people = cf.evaluate_answers(human, measure)[measure].values
    by_judge = cf.evaluate_answers(judge, measure)[measure].values
    is_sampled = np.isin(TOPICS, sample)
    for k, row in enumerate(result.rows.to_dicts()):
        y, f = by_people[is_sampled, k], by_judge[:, k]
        error = y - f[is_sampled]
        others = f[~is_sampled]
        variance = others.var(ddof=1) / len(others) + error.var(ddof=1) / len(error)
        assert row["estimate"] == pytest.approx(others.mean() + error.mean(), abs=1e-12)
        assert row["standard_error"] == pytest.approx(variance**0.5, abs=1e-12)
        assert (row["human"], row["answers"]) == (12, 40)
        assert row["by judge"] == pytest.approx(f.mean(), abs=1e-12)


def test_a_missing_answer_scores_0_and_is_not_sampled() -> None:
    table = {"x": {f"q{k}": [["full" if k % 3 else "none"]] for k in range(20)}}
    judge = {"x": table["x"], "y": {f"q{k}": [["full"]] for k in range(0, 20, 2)}}
    people = {"x": {f"q{k}": [["full"]] for k in range(8)}}
    people["y"] = {f"q{k}": [["full" if k else "none"]] for k in range(0, 12, 2)}
    with cf.base.errors.collect_warnings():
        human, machine = map(cf.texts.read_citations, (people, judge))
        result = ppi_answers(human, machine, "CitationPrecision")
    row = result.rows.row(1, named=True)
    y = np.array([0.0, *[1.0] * 5, *[np.nan] * 4])
    alone = ppi_mean(y, np.ones(10))
    assert (row["human"], row["answers"]) == (6, 10)
    for name in ("estimate", "low", "high", "standard_error"):
        assert row[name] == pytest.approx(float(getattr(alone, name)) / 2, abs=1e-12)


def test_a_difference_is_estimated_from_differences_of_topics() -> None:
    sample = TOPICS[3:15]
    human, judge = judged(sample, 0.0), judged(TOPICS, 0.2)
    result = ppi_answers(human, judge, "NuggetRecall")
    y, f = (cf.evaluate_answers(a, "NuggetRecall")["NuggetRecall"].values for a in (human, judge))
    people = np.where(np.isin(TOPICS, sample), y[:, 0] - y[:, 1], np.nan)
    expected = ppi_mean(people, f[:, 0] - f[:, 1])
    [row] = result.estimate_differences().to_dicts()
    assert (row["system"], row["other"]) == ("x", "y")
    for name in ("estimate", "standard_error", "low", "high"):
        assert row[name] == pytest.approx(float(getattr(expected, name)), abs=1e-12)
    [reverse] = result.estimate_differences(baseline="x").to_dicts()
    assert (reverse["system"], reverse["estimate"]) == ("y", pytest.approx(-row["estimate"]))


def test_a_missing_answer_counts_as_0_in_a_difference() -> None:
    judge = {s: {f"q{k}": [["full" if k % 3 else "none"]] for k in range(20)} for s in "xy"}
    people = {s: {f"q{k}": [["full" if k else "none"]] for k in range(8)} for s in "xy"}
    del judge["y"]["q4"], people["y"]["q4"], judge["y"]["q15"]
    with cf.base.errors.collect_warnings():
        human, machine = map(cf.texts.read_citations, (people, judge))
        result = ppi_answers(human, machine, "CitationPrecision")
    y, f = np.zeros(20), np.zeros(20)
    y[4], y[8:], f[4] = 1.0, np.nan, 1.0
    [row] = result.estimate_differences().to_dicts()
    assert row["estimate"] == pytest.approx(float(ppi_mean(y, f).estimate), abs=1e-12)


def test_differences_are_refused_without_common_topics() -> None:
    with cf.base.errors.collect_warnings():
        table = answers(5, TOPICS[3:15])
        del table["y"]["q4"]
        human = cf.texts.judge_answers(table, NUGGETS)
    judge = judged(TOPICS, 0.2)
    with pytest.raises(CranfieldError, match="answers of 'x' and 'y' to the same topics"):
        ppi_answers(human, judge, "NuggetRecall").estimate_differences()
    single = cf.texts.read_citations({"x": {q: [["full"]] for q in TOPICS}})
    with pytest.raises(CranfieldError, match="requires two systems, got 'x'"):
        ppi_answers(single, single, "CitationPrecision").estimate_differences()


def test_refusals() -> None:
    human, judge = judged(TOPICS, 0.0), judged(TOPICS[:30], 0.2)
    with pytest.raises(CranfieldError, match="people labelled an answer of 'x'"):
        ppi_answers(human, judge, "NuggetRecall")
    cited = cf.texts.read_citations({"x": {"q1": [["full"]]}})
    with pytest.raises(CranfieldError, match="must have the same type"):
        ppi_answers(human, cited, "NuggetRecall")


ANSWER = [["full", "none"], ["none"], []]
CUT = [["full"], ["none"], []], [["full", "none"], ["none"]], [["full", "none"], [], []]


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("counted", ["first", "all"])
def test_people_label_answers_completely(cut: list[list[str]], counted: str) -> None:
    """With the first of two citations only, scores by the first citation are the same."""
    measure = f"CitationRecall(counted='{counted}')"
    judge = cf.texts.read_citations({"x": dict.fromkeys(TOPICS, ANSWER)})
    people = dict.fromkeys(TOPICS[:8], ANSWER) | {TOPICS[4]: cut}
    human = cf.texts.read_citations({"x": people})
    if cut == CUT[0] and counted == "first":
        assert ppi_answers(human, judge, measure).rows["estimate"].to_list() == [1 / 3]
    else:
        with pytest.raises(InputError, match="citations?, and|sentences?, and"):
            ppi_answers(human, judge, measure)


def test_people_and_judge_label_the_same_nuggets() -> None:
    gold = NUGGETS | {TOPICS[5]: dict.fromkeys(["a", "b"], 1)}
    with cf.base.errors.collect_warnings():
        human = cf.texts.judge_answers({"x": {topic: ["a"] for topic in TOPICS[:8]}}, gold)
    judge = judged(TOPICS, 0.2)
    with pytest.raises(InputError, match=f"labelled 2 nuggets, and the judge 4.*'{TOPICS[5]}'"):
        ppi_answers(human, judge, "NuggetRecall")


def test_the_command_writes_corrected_scores(tmp_path: Path) -> None:
    def write(name: str, topics: list[str], errors: float) -> None:
        rows = [
            (topic, system, nugget, 500)
            for system, of_system in answers(5, topics, errors).items()
            for topic, answer in of_system.items()
            for nugget in [*answer["nuggets"], None]
        ]
        names = ["topic", "system", "nugget", "length"]
        pl.DataFrame(rows, names, orient="row").write_csv(tmp_path / name)

    write("judge.csv", TOPICS, 0.2)
    write("people.csv", TOPICS[3:15], 0.0)
    gold = "".join(f"{topic},{nugget}\n" for topic in TOPICS for nugget in "abcd")
    (tmp_path / "gold.csv").write_text("topic,nugget\n" + gold)
    arguments = ("answers", "--nuggets", "gold.csv", "judge.csv", "--human", "people.csv")
    measures = ("-m", "NuggetRecall", "-m", "NuggetPrecision")
    out, err = cranfield(tmp_path, *arguments, *measures, "--format", "csv")
    table = pl.read_csv(out.encode())
    human, judge = judged(TOPICS[3:15], 0.0), judged(TOPICS, 0.2)
    expected = [ppi_answers(human, judge, name).rows for name in measures[1::2]]
    assert table["estimate"].to_list() == pytest.approx(pl.concat(expected)["estimate"].to_list())
    assert "missing" not in err
    out, _ = cranfield(tmp_path, *arguments, *measures)
    assert "prediction-powered NuggetRecall: people labelled 24 of 80 answers" in out
    _, err = cranfield(tmp_path, *arguments, "--by-topic", status=2)
    assert "--human cannot be combined with --by-topic" in err
