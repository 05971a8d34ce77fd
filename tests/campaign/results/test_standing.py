"""Standing: a planted campaign, whose best and median are known."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.campaign.results.leaderboard import leaderboard
from cranfield.campaign.results.standing import _add_new_runs
from cranfield.campaign.results.stored_inputs import pool
from cranfield.campaign.store.records import Team
from tests.campaign.results.made import RULES, handed_in, judged, lines, made, opened

TOPICS = 30
LEVELS = {"poor": 1, "low": 3, "middle": 5, "good": 7, "top": 9}
"""How many of the first ten documents are relevant in most topics, by run."""


def planted(relevant: int, seed: int, marked: str = "") -> dict[str, dict[str, float]]:
    """Put so many relevant documents on top, one more or fewer here and there."""
    draw = np.random.default_rng(seed)
    found = {}
    for topic in range(TOPICS):
        number = int(np.clip(relevant + draw.integers(-1, 2), 0, 10))
        good = [f"{marked}r{k}" for k in range(number)]
        bad = [f"{marked}n{k}" for k in range(10 - number)]
        docs = draw.permutation([*good, *bad]).tolist()
        found[f"q{topic + 1}"] = {doc: float(10 - k) for k, doc in enumerate(docs)}
    return found


def qrels() -> dict[str, dict[str, float]]:
    docs = {**{f"r{k}": 1.0 for k in range(12)}, **{f"n{k}": 0.0 for k in range(12)}}
    return {f"q{topic + 1}": docs for topic in range(TOPICS)}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rules = RULES.replace('"AP", "nDCG@10", "P@5"', '"P@10"')
    made_of = made(tmp_path_factory.mktemp("template") / "c", TOPICS, rules)
    with made_of.registry.change("team", "them") as change:
        change.insert(Team("them", "Them", "2026-08-01T12:00:00Z"))
    judged(made_of, qrels())
    for seed, (tag, level) in enumerate(LEVELS.items()):
        handed_in(made_of, tag, planted(level, seed), team="us" if seed % 2 else "them")
    handed_in(made_of, "by-hand", planted(10, 77), type="manual")
    return made_of.folder


@pytest.fixture
def campaign(template: Path, tmp_path: Path) -> cf.campaign.Campaign:
    return opened(shutil.copytree(template, tmp_path / "c"))


def written(folder: Path, tag: str, run: dict[str, dict[str, float]]) -> Path:
    path = folder / f"{tag}.run"
    path.write_bytes(lines(tag, run))
    return path


@pytest.mark.parametrize(
    ("relevant", "seed", "place", "verdict"),
    [
        (0, 40, 6, "below the median"),
        # The same run as the median.
        (LEVELS["middle"], 2, 3, "not significantly different from the median"),
        (8, 40, 2, "above the median, below the best"),
        (LEVELS["top"], 40, None, "above the median, not significantly different from the best"),
        (10, 40, 1, "above the best"),
    ],
)
def test_verdicts_of_a_planted_campaign(
    tmp_path: Path,
    campaign: cf.campaign.Campaign,
    relevant: int,
    seed: int,
    place: int | None,
    verdict: str,
) -> None:
    found = campaign.standing(written(tmp_path, "new", planted(relevant, seed)))
    place = place or found.rank
    assert (found.rank, found.n_runs, found.position) == (place, 6, verdict)
    assert dict(found.frame.select("against", "tag").rows()) == {"best": "top", "median": "middle"}
    assert found.unjudged == {10: 0.0}
    # Its note on the selection of the best run replaces that of a comparison with the best.
    assert sum("p-values" in note and "selection" in note for note in found.notes) == 1
    assert not any("has the best mean" in note for note in found.notes)
    assert (relevant == 10) != any("has the best mean" in n for n in found.comparison.notes)


def test_what_is_unjudged_is_said_first(tmp_path: Path, campaign: cf.campaign.Campaign) -> None:
    run = planted(10, 40, marked="new-")
    found = campaign.standing(written(tmp_path, "unknown", run))
    assert found.unjudged == {10: 1.0}
    assert str(found).startswith("unknown: unjudged documents: 100.0% of the first 10\n")
    assert found.position == "below the median"
    assert found.losses is None


def test_ranks_that_contradict_scores_are_noted(
    tmp_path: Path, campaign: cf.campaign.Campaign
) -> None:
    run = written(tmp_path, "mine", planted(9, 40))
    backwards = [line.split() for line in run.read_text().splitlines()]
    text = "".join(f"{t} Q0 {d} {10 - int(r)} {s} {n}\n" for t, _, d, r, s, n in backwards)
    for path, count in ((run, 0), (tmp_path / "other.run", 1)):
        path.write_text(run.read_text() if path == run else text)
        notes = campaign.standing(path).notes
        assert sum("ranks that contradict" in note for note in notes) == count


@pytest.mark.parametrize("depth", (10, 2))
def test_what_unpooled_runs_lose(
    tmp_path: Path, campaign: cf.campaign.Campaign, depth: int
) -> None:
    # The recorded depth counts, not the 10 of the rules.
    pool(campaign, depth=depth, mark=True)
    path = written(tmp_path, "new", planted(6, 40))
    found = campaign.standing(path)
    assert found.losses is not None
    pooled = {one.tag: one for one in campaign.submissions() if one.pooled}
    runs = {
        tag: cf.read_run(campaign.folder / "objects" / one.object[:2] / one.object, name=tag)
        for tag, one in pooled.items()
    }
    teams = {tag: one.team for tag, one in pooled.items()}
    left = cf.meta.leave_one_out(
        runs, qrels(), "P@10", teams=teams, depth=depth, lists="raw"
    ).summary
    assert found.losses["runs"] == len(pooled) == 6
    for name in ("mean drop", "largest drop", "largest rank change"):
        assert found.losses[name] == left[name][0]
    assert "up to" in str(found).splitlines()[1]
    # It is kept.
    files = len(campaign.registry.list_score_files("adhoc"))
    assert campaign.standing(path).losses == found.losses
    assert len(campaign.registry.list_score_files("adhoc")) == files


def test_pvalues_are_those_of_compare(tmp_path: Path, campaign: cf.campaign.Campaign) -> None:
    new = written(tmp_path, "new", planted(6, 40))
    found = campaign.standing(new, baseline="low")
    paths = {
        one.tag: campaign.folder / "objects" / one.object[:2] / one.object
        for one in campaign.submissions()
    }
    ev = cf.evaluate(
        {**{tag: str(path) for tag, path in paths.items()}, "new": new}, qrels(), "P@10"
    )
    asked = ev["P@10"].select(systems=["top", "middle", "low", "new"])
    expected = cf.compare(asked, baseline=["top", "middle", "low"])
    assert found.frame["tag"].to_list() == ["top", "middle", "low"]
    assert found.comparison.adjusted_pvalues.tobytes() == expected.adjusted_pvalues.tobytes()
    assert found.frame["p"].to_numpy().tobytes() == expected.adjusted_pvalues.tobytes()
    assert found.frame["raw p"].to_numpy().tobytes() == expected.raw_pvalues.tobytes()
    assert found.frame["low"].to_list() == expected.interval[0].tolist()
    assert found.frame["high"].to_list() == expected.interval[1].tolist()
    expected_differences = found.mean - found.frame["mean"].to_numpy()
    np.testing.assert_allclose(found.frame["difference"].to_numpy(), expected_differences)
    assert found.baseline is not None
    assert found.baseline.position == "below the median"
    # Four other automatic runs: good is the better middle one.
    of_baseline = ev["P@10"].select(systems=["top", "good", "low"])
    theirs = cf.compare(of_baseline, baseline=["top", "good"])
    assert found.baseline.frame["p"].to_list() == theirs.adjusted_pvalues.tolist()
    assert found.to_polars().height == 5


def test_standardised_scores_have_the_campaign_as_reference(
    tmp_path: Path, campaign: cf.campaign.Campaign
) -> None:
    new = written(tmp_path, "new", planted(6, 40))
    for seed in range(4):
        handed_in(campaign, f"more-{seed}", planted(3 + seed, 50 + seed))
    few = campaign.standing(new)
    assert few.standardised is None
    assert few.frame["standardised"].null_count() == 2
    assert "scores are not standardised: 10 reference runs are required, got 9" in few.notes
    handed_in(campaign, "more-4", planted(7, 54))
    found = campaign.standing(new)
    assert not any(note.startswith("not standardised") for note in found.notes)
    ev = campaign.score(measures=["P@10"])
    automatic = sorted([*LEVELS, *(f"more-{seed}" for seed in range(5))])
    reference = ev["P@10"].select(systems=automatic)
    own = cf.evaluate(tmp_path / "new.run", qrels(), "P@10")["P@10"]
    assert found.standardised == cf.significance.standardise(own, reference).mean()[0]


def test_runs_of_other_types_where_they_are_asked_for(
    tmp_path: Path, campaign: cf.campaign.Campaign
) -> None:
    path = written(tmp_path, "new", planted(10, 40))
    assert campaign.standing(path, kind="manual").n_runs == 2
    found = campaign.standing(path, kind=None)
    assert (found.n_runs, found.notes[0]) == (7, "compared with the 6 accepted runs")
    with pytest.raises(PolicyError, match="no run is of type 'hybrid'"):
        campaign.standing(path, kind="hybrid")


def test_a_file_called_as_a_run_of_the_campaign_stands_in_its_place(
    tmp_path: Path, campaign: cf.campaign.Campaign
) -> None:
    found = campaign.standing(written(tmp_path, "top", planted(2, 40)))
    assert (found.n_runs, found.frame["tag"].to_list()) == (5, ["good", "middle"])
    assert (
        found.notes[1]
        == "run 'top' of the campaign is excluded, because a run file has the same name"
    )
    again = campaign.standing("top")
    assert (again.n_runs, again.rank, again.position) == (5, 1, "above the best")


def test_what_makes_no_sense_is_refused(tmp_path: Path, campaign: cf.campaign.Campaign) -> None:
    path = written(tmp_path, "new", planted(6, 40))
    with pytest.raises(PolicyError, match="got 'new' twice"):
        campaign.standing(path, baseline=path)
    with pytest.raises(PolicyError, match="depend on the other runs"):
        campaign.standing(path, measure="URisk(AP, baseline='low')")
    with pytest.raises(CranfieldError, match="no run to compare with"):
        campaign.standing("by-hand", kind="manual")
    campaign.withdraw("good", "a bug")
    for run, baseline in (("good", None), (path, "good")):
        with pytest.raises(PolicyError, match="'good'; the run of team .* already withdrawn"):
            campaign.standing(run, baseline=baseline)
    assert campaign.standing(written(tmp_path, "good", planted(8, 40))).rank == 2


def test_runs_with_equal_means_of_other_sums_are_equal(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c", 3, RULES.replace('"AP", "nDCG@10", "P@5"', '"P@10"'))
    judged(campaign, {f"q{k}": {f"r{j}": 1.0 for j in range(9)} for k in range(1, 4)})
    # 0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1, to the bit.
    for tag, counts in {"up": (1, 2, 3), "down": (3, 2, 1), "last": (0, 2, 1)}.items():
        ranks = {f"q{k}": {f"r{j}": 9.0 - j for j in range(n)} for k, n in enumerate(counts, 1)}
        handed_in(campaign, tag, {topic: docs or {"x": 1.0} for topic, docs in ranks.items()})
    means = campaign.score().by_system()["P@10"]
    assert means[0] != means[1]
    board = leaderboard(campaign.score(), campaign.submissions()).to_polars()
    assert board["rank"].to_list() == [1, 1, 3]
    assert board["tag"].to_list() == ["down", "up", "last"]
    assert board["low"][0] == pytest.approx(board["low"][1])
    assert board["low"][0] < board["P@10"][0] < board["high"][0]
    for tag in ("up", "down"):
        found = campaign.standing(tag)
        assert (found.rank, found.n_runs) == (1, 3)
        campaign.sheets("adhoc", tmp_path / "sheets")
        sheet = (tmp_path / "sheets" / "runs" / f"{tag}.txt").read_text()
        assert "Rank 1 of 3 runs by P@10, 0.2000" in sheet


def test_notes_on_the_run_are_those_of_an_evaluation(
    tmp_path: Path, campaign: cf.campaign.Campaign
) -> None:
    run = planted(5, 3)
    tied = {topic: dict.fromkeys(docs, 1.0) for topic, docs in run.items()}
    notes = campaign.standing(written(tmp_path, "short", dict(list(run.items())[:-2]))).notes
    assert any(note.startswith("system 'short' has no results for some judged") for note in notes)
    notes = campaign.standing(written(tmp_path, "tied", tied), measure="P@5").notes
    assert any(note.startswith("ties can change P@5 of 'tied' by up to") for note in notes)
    notes = campaign.standing(written(tmp_path, "plain", run)).notes
    assert not any("results for" in note or "ties" in note or "grade" in note for note in notes)


@pytest.mark.parametrize(("lower", "mean"), [(True, 4.0), (False, 2.0)])
def test_a_missing_score_is_never_the_best(lower: bool, mean: float) -> None:
    topics = ("q1", "q2")
    runs = cf.Scores(np.array([[1.0], [3.0]]), topics, ("a",), measure="x", lower_is_better=lower)
    new = cf.Scores(np.array([[4.0]]), ("q1",), ("new",), measure="x", lower_is_better=lower)
    scores, notes = _add_new_runs(runs, new)
    assert scores.mean()[1] == mean
    assert len(notes) == 1
