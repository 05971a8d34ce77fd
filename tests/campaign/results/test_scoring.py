"""Scores of a campaign: those of one evaluation to the bit, whatever was kept or lost."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError, PolicyError
from cranfield.campaign.results import scoring
from cranfield.campaign.store.records import Submission
from tests.campaign.results.made import (
    RULES,
    Rankings,
    handed_in,
    judged,
    made,
    qrels,
    rankings,
    scored,
)


def assert_same(found: cf.Evaluation, runs: Mapping[str, Rankings], **options: Any) -> None:
    whole = cf.evaluate(runs, qrels(), list(found), **options)
    assert found.topics == whole.topics
    assert found.systems == whole.systems
    assert list(found) == list(whole)
    for name in whole:
        ours, theirs = found[name], whole[name]
        assert ours.values.tobytes() == np.ascontiguousarray(theirs.values).tobytes()
        assert ours.overall().tobytes() == theirs.overall().tobytes()
        assert (ours.settings, ours.scale) == (theirs.settings, theirs.scale)
    assert found.coverage == whole.coverage


MANY = ["AP", "nDCG@10", "RBP(p=0.8)", "ERR@20", "bpref", "Judged@10", "GMAP", "NumRelRet"]


def test_one_run_more_scores_that_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = scored(tmp_path / "c", "")
    asked: list[list[str]] = []
    one_by_one = scoring.Scoring._evaluate

    def noted(
        self: scoring.Scoring, runs: list[Submission], measures: list[cf.Measure]
    ) -> cf.Evaluation | None:
        asked.append([one.tag for one in runs])
        return one_by_one(self, runs, measures)

    monkeypatch.setattr(scoring.Scoring, "_evaluate", noted)
    runs: dict[str, Rankings] = {}
    for number, tag in enumerate("bca"):
        runs[tag] = rankings(number)
        handed_in(campaign, tag, runs[tag])
        in_order = dict(sorted(runs.items()))
        assert_same(campaign.score(measures=MANY), in_order)
        assert_same(campaign.score(measures=MANY), in_order)
    assert asked == [["b"], ["c"], ["a"]]
    # A new measure is computed of all, the others are not again.
    assert_same(campaign.score(measures=["P@5", "AP"]), in_order)
    assert asked[3:] == [["a", "b", "c"]]
    campaign.score(measures=["P@5", "AP", "ERR@20"])
    assert len(asked) == 4


def test_measures_that_look_at_other_runs_are_scored_with_all(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "")
    runs: dict[str, Rankings] = {}
    measures = ["AP", "URisk(AP, baseline='a')", "TRisk(nDCG@10, baseline='a')"]
    for number, tag in enumerate("abc"):
        runs[tag] = rankings(number)
        handed_in(campaign, tag, runs[tag])
        assert_same(campaign.score(measures=measures), runs)
    assert_same(campaign.score(measures=measures), runs)


@pytest.mark.parametrize("topics", ["intersection", "run", "qrels"])
def test_whatever_topics_count(tmp_path: Path, topics: Any) -> None:
    rules = RULES.replace('topics = "topics.txt"', "") + f'judging = {{topics = "{topics}"}}\n'
    campaign = made(tmp_path / "c", rules=rules)
    judged(campaign, {t: docs for t, docs in qrels().items() if t != "q3"})
    every = {tag: rankings(k) for k, tag in enumerate("abcd")}
    runs = {
        tag: {t: docs for t, docs in of.items() if tag not in "bc" or t != f"q{2 + (tag == 'c')}"}
        for tag, of in every.items()
    }
    # A run without any judged topic, which nobody could judge alone.
    runs["e"] = {"q3": every["a"]["q3"]}
    for tag, of in runs.items():
        handed_in(campaign, tag, of)
        found = campaign.score(measures=["AP", "P@5"])
    whole = cf.evaluate(
        runs, {t: d for t, d in qrels().items() if t != "q3"}, ["AP", "P@5"], topics=topics
    )
    assert found.topics == whole.topics
    for name in whole:
        np.testing.assert_array_equal(found[name].values, whole[name].values)
    assert found.coverage == whole.coverage


def test_one_file_holds_the_scores_of_all_runs(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "")
    runs: dict[str, Rankings] = {}
    for number in range(4):
        runs[f"r{number}"] = rankings(number)
        handed_in(campaign, f"r{number}", runs[f"r{number}"])
        assert_same(campaign.score(measures=MANY), runs)
        files = [one.path for one in campaign.registry.list_score_files("adhoc")]
        assert files == [f"scores/{one.name}" for one in (campaign.folder / "scores").iterdir()]
        assert len(files) == 1
    assert {path.stat().st_mode & 0o777 for path in files_of(campaign)} == {0o600}
    handed_in(campaign, "gone", rankings(9), state="withdrawn")
    assert campaign.score().systems == tuple(runs)
    found = campaign.verify()
    assert (found.is_intact, found.leftover_files) == (True, ())


def files_of(campaign: cf.campaign.Campaign) -> list[Path]:
    return [campaign.folder / one.path for one in campaign.registry.list_score_files("adhoc")]


@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_damaged_files_are_computed_again_and_said(tmp_path: Path, how: str) -> None:
    campaign = scored(tmp_path / "c", "ab")
    runs = {tag: rankings(k) for k, tag in enumerate("ab")}
    campaign.score()
    [path] = files_of(campaign)
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes(flipped if how == "flipped" else data[:middle])
    what = "is missing" if how == "gone" else "is damaged"
    with pytest.warns(CranfieldWarning, match=f"^scores/{path.name} {what}: its scores are comp"):
        assert_same(campaign.score(), runs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(campaign.score(), runs)
    assert all(path.exists() for path in files_of(campaign))
    assert campaign.verify().is_intact


def test_other_judgments_make_other_scores(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "a")
    first = campaign.score()
    judged(campaign, qrels(7), "2")
    second = campaign.score()
    assert not np.array_equal(first["AP"].values, second["AP"].values)
    again = campaign.score(judgments="1")
    np.testing.assert_array_equal(first["AP"].values, again["AP"].values)


def test_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    with pytest.raises(CranfieldError, match="task 'adhoc' has no judgments"):
        campaign.score()
    judged(campaign, qrels())
    with pytest.raises(CranfieldError, match="task 'adhoc' has no accepted run"):
        campaign.score()
    record = handed_in(campaign, "a", rankings(0))
    with pytest.raises(
        PolicyError, match="unknown version '2' of the judgments; expected one of: '1'"
    ):
        campaign.score(judgments="2")
    path = campaign.folder / "objects" / record.object[:2] / record.object
    path.write_bytes(path.read_bytes().replace(b"d00", b"d01"))
    with (
        pytest.warns(
            CranfieldWarning, match="run 'a': the stored bytes differ from the submitted file"
        ),
        pytest.raises(InputError, match="run 'a': the stored bytes differ from the submitted file"),
    ):
        campaign.score()


def test_a_file_that_another_table_shares_is_kept(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "a")
    campaign.score(measures=["AP"])
    # The added topic has no judgments, so the scores are the same.
    with (campaign.folder / "topics.txt").open("a") as file:
        file.write("q99\n")
    with pytest.warns(CranfieldWarning, match="the rules changed"):
        cf.campaign.open(campaign.folder).score(measures=["AP"])
    first, second = campaign.registry.list_score_files()
    assert first.path == second.path
    cf.campaign.open(campaign.folder).score(measures=["AP", "P@5"])
    assert all(
        (campaign.folder / file.path).is_file() for file in campaign.registry.list_score_files()
    )
