"""Measures of sampled judgments: against sample_eval.pl, infAP, full judgments and simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cranfield as cf
import cranfield.measures.ranked.incomplete  # noqa: F401
from cranfield.base.errors import MeasureError
from tests import reference as ref

DATA = Path(__file__).parents[1] / "data" / "sampled"
SHOWN = json.loads((DATA / "sample_eval.json").read_text())
"""sample_eval.pl (NIST, version of 10 October 2011), its values with ten decimals, run with perl 5:
infAP, infNDCG, iP10, iP50 of topics 1, 2, 3."""


@pytest.mark.parametrize("name", SHOWN)
def test_values_of_sample_eval(name: str) -> None:
    qrels = cf.read_qrels(DATA / "sample.xqrels", format="xqrels")
    measures = ["xinfAP@1000", "infNDCG@1000", "infP@10", "infP@50"]
    found = cf.evaluate(DATA / f"{name}.run", qrels, measures)
    assert found["infP@10"].topics == ("1", "2", "3")
    values = np.column_stack([found[measure].values[:, 0] for measure in measures])
    assert values == pytest.approx(np.array(SHOWN[name]), abs=5.1e-11)


def sampled(
    ranking: ref.Ranking, columns: dict[str, list[str]] | dict[str, list[float]], missed: list[int]
) -> tuple[dict[str, dict[str, float]], cf.Qrels]:
    """A run, and judgments with columns in the order of the judged documents, the missed last."""
    run = {"q": {f"d{i:02}": -float(i) for i in range(len(ranking))} | {"u": -99.0}}
    graded = {f"d{i:02}": grade for i, grade in enumerate(ranking) if grade is not None}
    graded |= {f"m{i}": grade for i, grade in enumerate(missed)}
    qrels = cf.read_qrels({"q": graded})
    return run, replace(qrels, columns={name: np.array(values) for name, values in columns.items()})


rankings = st.lists(st.none() | st.integers(-1, 3), min_size=1, max_size=10).filter(
    lambda ranking: any(grade is not None for grade in ranking)
)


@settings(max_examples=20)
@given(rankings, st.lists(st.integers(-1, 3), max_size=4), st.sampled_from([0, 1, 2]))
def test_one_stratum_is_infap(ranking: ref.Ranking, missed: list[int], rel: int) -> None:
    judged = [grade for grade in ranking if grade is not None] + missed
    run, qrels = sampled(ranking, {"stratum": ["a"] * len(judged)}, missed)
    found = cf.evaluate(run, qrels, [f"infAP(rel={rel})", f"xinfAP(rel={rel}, prior=0.5)"])
    simple, extended = (float(found[measure].values[0, 0]) for measure in found)
    assert extended == pytest.approx(simple, abs=1e-12)


@settings(max_examples=20)
@given(rankings, st.lists(st.integers(0, 3), max_size=4), st.data())
def test_a_sample_of_everything(
    ranking: ref.Ranking, missed: list[int], data: st.DataObject
) -> None:
    """Whatever the strata, estimates are what they estimate."""
    ranking = [None if grade == -1 else grade for grade in ranking]
    judged = [grade for grade in ranking if grade is not None] + missed
    if not judged:
        return
    labels = st.lists(st.sampled_from("xyz"), min_size=len(judged), max_size=len(judged))
    columns = {"stratum": data.draw(labels)}
    run, qrels = sampled(ranking, columns, missed)
    measures = ["xinfAP", "infP@4", "infNDCG", "infNDCG(gains='exponential')@3"]
    known = ["AP", "P@4", "nDCG", "nDCG(gains='exponential')@3"]
    found = cf.evaluate(run, qrels, measures + known)
    values = [float(found[measure].values[0, 0]) for measure in [*measures, *known]]
    assert values[:2] == pytest.approx(values[4:6], abs=2e-4)
    assert values[2:4] == pytest.approx(values[6:], abs=1e-12)
    qrels = replace(qrels, columns={"inclusion": np.ones(len(judged))})
    found = cf.evaluate(run, qrels, ["statAP", "AP", "statAP@3", "AP@3"])
    values = [float(found[measure].values[0, 0]) for measure in found]
    assert values[0::2] == pytest.approx(values[1::2], abs=1e-12)


def test_labels_of_strata_do_not_matter() -> None:
    ranking: ref.Ranking = [1, 0, -1, 2, None, -1, 1]
    values = []
    for one, two in (("a", "b"), ("z", "1"), ("10", "9")):
        run, qrels = sampled(ranking, {"stratum": [one, two, two, one, two, two, two]}, [1])
        found = cf.evaluate(run, qrels, ["xinfAP", "infNDCG"])
        values.append([float(found[measure].values[0, 0]) for measure in found])
    assert values[0] == values[1] == values[2]


TRUTH = [1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
MISSED = [1, 0, 1, 0]
SAMPLES = 1500


def many(kept: NDArray[np.bool_], columns: dict[str, NDArray[Any]]) -> cf.Qrels:
    """Judgments of many samples, each a topic; a document not sampled has grade -1."""
    truth = np.array(TRUTH + MISSED)
    size = truth.size
    topics = np.repeat(np.arange(SAMPLES), size)
    columns_read = {
        "topic": [f"t{topic}" for topic in topics],
        "doc": [f"d{i:02}" for i in range(size)] * SAMPLES,
        "grade": np.where(kept, truth, -1).ravel(),
    }
    qrels = cf.read_qrels(pl.DataFrame(columns_read))
    return replace(qrels, columns={name: np.tile(v, SAMPLES) for name, v in columns.items()})


def runs_of_samples() -> dict[str, dict[str, float]]:
    return {
        f"t{topic}": {f"d{i:02}": -float(i) for i in range(len(TRUTH))} for topic in range(SAMPLES)
    }


def test_statap_is_right_on_average() -> None:
    """Sums over independent samples are unbiased, within four standard errors."""
    rng = np.random.default_rng(5)
    size = len(TRUTH + MISSED)
    chances = np.linspace(0.9, 0.3, size)
    kept = rng.random((SAMPLES, size)) < chances
    qrels = many(kept, {"inclusion": chances})
    found = cf.evaluate(runs_of_samples(), qrels, ["statAP"])["statAP"]
    order = [int(topic[1:]) for topic in found.topics]
    bases = (kept * np.array(TRUTH + MISSED) / chances).sum(axis=1)[order]
    total = found.values[:, 0] * bases
    wanted = ref.ap([*TRUTH], TRUTH + MISSED) * sum(TRUTH + MISSED)
    for values, expected in ((total, wanted), (bases, sum(TRUTH + MISSED))):
        error = values.std(ddof=1) / np.sqrt(SAMPLES)
        assert abs(values.mean() - expected) < 4 * error
    # Without the weights the sums would be far off.
    assert abs(total.mean() - wanted) < 0.02 * wanted


def test_xinfap_is_right_on_average() -> None:
    """Half of one stratum, a third of the other, in 1,500 samples; the estimate is a ratio."""
    rng = np.random.default_rng(6)
    size = len(TRUTH + MISSED)
    strata = np.array(["top"] * 8 + ["rest"] * (size - 8))
    kept = np.zeros((SAMPLES, size), dtype=bool)
    for topic in range(SAMPLES):
        kept[topic, rng.choice(8, 6, replace=False)] = True
        kept[topic, 8 + rng.choice(size - 8, 9, replace=False)] = True
    qrels = many(kept, {"stratum": strata})
    found = cf.evaluate(runs_of_samples(), qrels, ["xinfAP", "infNDCG", "infAP"])
    full = {
        "xinfAP": ref.ap([*TRUTH], TRUTH + MISSED),
        "infNDCG": ref.ndcg([*TRUTH], TRUTH + MISSED),
    }
    for name, expected in full.items():
        assert abs(found[name].values.mean() - expected) < 0.02
    # What knows nothing of the strata is wrong: documents at the top are sampled more often.
    assert abs(found["infAP"].values.mean() - full["xinfAP"]) > 0.03


def test_judged_but_not_sampled_documents_do_not_count() -> None:
    run, qrels = sampled([1, 1, 0], {"inclusion": [0.5, 0.0, 0.5]}, [])
    assert float(cf.evaluate(run, qrels, ["statAP"])["statAP"].values[0, 0]) == 1.0


@pytest.mark.parametrize(
    ("measure", "columns", "complaint"),
    [
        ("xinfAP", {}, "xinfAP requires a column 'stratum' of the judgments, got columns: none"),
        ("infNDCG@5", {}, "infNDCG@5 requires a column 'stratum'"),
        ("statAP", {"stratum": ["a"]}, "requires a column 'inclusion' .* got columns: stratum"),
        ("statAP", {"inclusion": [1.5]}, "probabilities must be from 0 to 1, got 1.5"),
        ("statAP", {"inclusion": [float("nan")]}, "probabilities must be from 0 to 1, got nan"),
        ("statAP", {"inclusion": ["high"]}, "column `inclusion` must contain numbers"),
    ],
)
def test_missing_and_wrong_columns(
    measure: str, columns: dict[str, list[float]], complaint: str
) -> None:
    run, qrels = sampled([1], columns, [])
    with pytest.raises(MeasureError, match=complaint):
        cf.evaluate(run, qrels, [measure])


def test_a_stratum_without_a_sample() -> None:
    """It is left out: nothing is known of it."""
    run, qrels = sampled([1, -1, 1], {"stratum": ["a", "b", "a"]}, [])
    found = cf.evaluate(run, qrels, ["xinfAP", "infNDCG"])
    # Above rank 3: one document of a, relevant, and one of b, of which the prior says 1/3.
    values = [float(found[measure].values[0, 0]) for measure in found]
    assert values == pytest.approx(
        [(1 + (1 + 1 + 1 / 3) / 3) / 2, (1 + 0.5) / (1 + 1 / np.log2(3))], abs=1e-4
    )


@pytest.mark.parametrize(
    ("inclusion", "measures", "named"),
    [
        ([1, 0.3, 0.3], ["statAP"], ""),
        ([1, 1, 1], ["AP", "P@2"], ""),
        ([1, 0.3, 0.3], ["statAP", "AP", "P@2"], "AP and P@2"),
    ],
)
def test_measures_that_ignore_inclusion_probabilities(
    inclusion: list[float], measures: list[str], named: str
) -> None:
    run, qrels = sampled([1, 0, 1], {"inclusion": inclusion}, [])
    notes = [note for note in cf.evaluate(run, qrels, measures).notes if "sample" in note]
    assert [note.split("unjudged in ")[1].split(";")[0] for note in notes] == [named][: len(notes)]
    assert bool(notes) == bool(named)
