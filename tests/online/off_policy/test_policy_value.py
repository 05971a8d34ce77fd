"""Off-policy estimates: right on average over all lists, the published figures, and limits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from cranfield import InputError
from cranfield.online import policy_value
from cranfield.online.log.query_log import make_log
from tests.conftest import ROOT
from tests.online.refusals import Refusal, check_refused

List = tuple[int, ...]
FORCE = {"log": np.array([1.0, 2.0, 4.0]), "policy": np.array([3.0, 1.0, 7.0])}
"""Each list is drawn document by document, in proportion to these."""

LENGTH = 3


def steps(which: str, docs: List) -> list[float]:
    """The chance of each document given those above it."""
    force, left = FORCE[which].copy(), []
    for doc in docs:
        left.append(float(force[doc] / force.sum()))
        force[doc] = 0
    return left


LISTS = [*permutations(range(3), LENGTH)]


def mean_over_lists(which: str, value: Callable[[List], float]) -> float:
    return sum(float(np.prod(steps(which, docs))) * value(docs) for docs in LISTS)


def at_position(which: str) -> np.ndarray[Any, Any]:
    """The chance of each document at each position, whatever stands above; (positions, docs)."""
    chance = np.zeros((LENGTH, 3))
    for docs in LISTS:
        chance[range(LENGTH), docs] += np.prod(steps(which, docs))
    return chance


WHERE = {name: at_position(name) for name in FORCE}
rng = np.random.default_rng(17)
ALONE = rng.random((LENGTH, 3))
BELOW = rng.random((3, 3))


def rewards(docs: List, depends: str) -> list[float]:
    """Rewards of positions that depend on their own document, on those above, on all others."""
    found = []
    for k, doc in enumerate(docs):
        others = {"position": (), "above": docs[:k], "list": docs}[depends]
        found.append(float(ALONE[k, doc] + sum(BELOW[doc, other] * (k + 1) for other in others)))
    return found


def guess(docs: List, depends: str) -> float:
    """Some prediction, right or wrong: of the last document of these, given what it depends on."""
    return float(np.sin(sum((k + 1) * (doc + 2) for k, doc in enumerate(docs)))) + 1.0


def frame_of(docs: List, depends: str) -> pl.DataFrame:
    rows = []
    for k, doc in enumerate(docs):
        above = docs[:k]
        if depends == "position":
            chances = {name: WHERE[name][k, doc] for name in FORCE}
            predicted = guess((k, doc), depends)
            expected = sum(WHERE["policy"][k, d] * guess((k, d), depends) for d in range(3))
        else:
            chances = {name: steps(name, docs)[k] for name in FORCE}
            # What is predicted of a document at a position, given those above it in a cascade.
            lists = [(*above, d) for d in range(3) if d not in above]
            predicted = guess((*above, doc), depends)
            expected = sum(steps("policy", one)[k] * guess(one, depends) for one in lists)
            if depends == "list":
                predicted = guess(docs, depends) / LENGTH
                expected = mean_over_lists("policy", lambda one: guess(one, depends)) / LENGTH
        rows.append((rewards(docs, depends)[k], *chances.values(), predicted, expected))
    names = ["reward", "propensity", "target_probability", "predicted", "expected"]
    ids = {"page": ["p"] * LENGTH, "rank": range(1, LENGTH + 1), "doc": [str(doc) for doc in docs]}
    return pl.concat([pl.DataFrame(ids), pl.DataFrame(rows, names, orient="row")], how="horizontal")


@pytest.mark.parametrize("depends", ["position", "above", "list"])
@pytest.mark.parametrize("estimator", ["IPS", "DR"])
def test_right_on_average_over_all_lists(estimator: str, depends: str) -> None:
    """The mean over all that the log could have been is the value of the policy."""
    truth = mean_over_lists("policy", lambda docs: sum(rewards(docs, depends)))

    def estimate(docs: List) -> float:
        return policy_value(frame_of(docs, depends), None, estimator, depends=depends).estimate

    assert mean_over_lists("log", estimate) == pytest.approx(truth, abs=1e-12)


def test_an_estimator_that_sees_too_little_is_biased() -> None:
    truth = mean_over_lists("policy", lambda docs: sum(rewards(docs, "above")))

    def estimate(docs: List) -> float:
        frame = frame_of(docs, "position").with_columns(reward=pl.Series(rewards(docs, "above")))
        return policy_value(frame).estimate

    assert abs(mean_over_lists("log", estimate) - truth) > 0.05


def test_right_predictions_need_no_rewards() -> None:
    """DM, and DR whose predictions are right, are the value of the policy on every list."""
    where = WHERE["policy"]
    truth = float((where * ALONE).sum())
    for docs in LISTS[::4]:
        frame = frame_of(docs, "position").with_columns(
            predicted=pl.Series([float(ALONE[k, doc]) for k, doc in enumerate(docs)]),
            expected=pl.Series((where * ALONE).sum(axis=1)),
        )
        for estimator in ("DM", "DR"):
            assert policy_value(frame, None, estimator).estimate == pytest.approx(truth, abs=1e-12)


OBP = {"list": 0.7661254496044472, "position": 1.0880285010321697, "above": 0.9165011755265391}


@pytest.mark.parametrize(("depends", "printed"), OBP.items())
def test_lists_as_obp_has_them(depends: str, printed: float) -> None:
    """SlateStandardIPS, SlateIndependentIPS and SlateRewardInteractionIPS of obp 0.4.1."""
    draw = np.random.default_rng(3)
    lists, length = 500, 4
    propensity = draw.uniform(0.1, 0.9, (lists, length))
    chance = np.clip(propensity * draw.uniform(0.3, 1.5, (lists, length)), 0, 1)
    reward = draw.binomial(1, 0.3, (lists, length))
    frame = pl.DataFrame({"page": np.repeat(np.arange(lists), length)}).with_columns(
        position=np.tile(np.arange(length), lists),
        reward=reward.ravel(),
        propensity=propensity.ravel(),
        target_probability=chance.ravel(),
    )
    assert policy_value(frame, depends=depends).estimate == pytest.approx(printed, abs=1e-12)


@pytest.mark.parametrize("is_known", [pl.col("position") != 2, pl.int_range(pl.len()) > 0])
def test_actions_above_must_be_known(is_known: pl.Expr) -> None:
    """Three positions, each x or y; the reward of the last is 1 if the second is x, in 90%."""
    actions = np.array([*product("xy", repeat=3)])
    frame = pl.DataFrame({"page": np.repeat(np.arange(8), 3)}).with_columns(
        position=np.tile([1, 2, 3], 8),
        action=actions.ravel(),
        propensity=0.5,
        reward=np.column_stack([np.zeros((8, 2)), actions[:, 1] == "x"]).ravel(),
    )
    policy = {"action": ["x", "y"], "probability": [0.9, 0.1]}
    for depends in ("above", "list"):
        assert policy_value(frame, policy, depends=depends).estimate == pytest.approx(0.9)
        from_0 = frame.with_columns(pl.col("position") - 1)
        assert policy_value(from_0, policy, depends=depends).estimate == pytest.approx(0.9)
        with pytest.raises(InputError, match="with gaps between positions"):
            policy_value(frame.filter(is_known), policy, depends=depends)
    # By position, each action has its own weight, and all rewards are of actions that are known.
    assert policy_value(frame.filter(pl.col("position") > 2), policy).estimate == 0.5


def drawn_lists(documents: int, repeats: bool) -> list[List]:
    pool = range(documents)
    return [*product(pool, repeat=LENGTH)] if repeats else [*permutations(pool, LENGTH)]


def as_table(q: np.ndarray[Any, Any]) -> pl.DataFrame:
    cells = [(k + 1, str(a), float(q[k, a])) for k, a in np.ndindex(q.shape)]
    return pl.DataFrame(cells, schema=["position", "action", "target_probability"], orient="row")


@pytest.mark.parametrize(("documents", "repeats"), [(3, False), (4, False), (2, True)])
def test_pseudo_inverse(documents: int, repeats: bool) -> None:
    """Weights are those of the numerical inverse, and sums over positions are found on average."""
    lists = drawn_lists(documents, repeats)
    draw = np.random.default_rng(documents)
    chances = draw.dirichlet(np.ones(len(lists)))
    shown = np.zeros((len(lists), LENGTH, documents))
    for row, docs in enumerate(lists):
        shown[row, range(LENGTH), docs] = 1
    q = np.tensordot(chances, shown, 1)
    flat = shown.reshape(len(lists), -1)
    weights = flat @ np.linalg.pinv(flat.T @ flat / len(lists)) @ q.ravel()
    worth = draw.random((LENGTH, documents))
    policy = as_table(q)
    found = []
    for row, docs in enumerate(lists):
        columns = {"page": ["p"] * LENGTH, "position": [1, 2, 3], "action": [*map(str, docs)]}
        frame = pl.DataFrame(columns).with_columns(reward=worth[range(LENGTH), docs])
        made = policy_value(frame, policy, "PI", candidates=documents, has_repeats=repeats)
        found.append(made.estimate)
        assert made.estimate == pytest.approx(weights[row] * (shown[row] * worth).sum(), abs=1e-10)
    assert np.mean(found) == pytest.approx(float((q * worth).sum()), abs=1e-12)


def bandit() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Impressions of the Open Bandit sample, rebuilt from their counts, and the other policy."""
    table = pl.read_csv(ROOT / "tests/data/online/open_bandit.csv")
    parts = [
        table.select("item_id", "position", click=pl.lit(click), times=times)
        for click, times in ((1, pl.col("clicked")), (0, pl.col("shown") - pl.col("clicked")))
    ]
    rows = pl.concat(parts)
    rows = rows.select(pl.exclude("times").repeat_by("times")).explode(
        "item_id", "position", "click"
    )
    rows = rows.drop_nulls().with_columns(propensity_score=pl.lit(1 / 80))
    return rows, table.select("item_id", "position", "probability")


def test_open_bandit() -> None:
    """The figures that obp 0.4.1 prints in its README, and their neighbours."""
    made = policy_value(LOG, POLICY)
    assert made.n_lists == 10_000
    assert made.estimate == pytest.approx(0.004552880, abs=5e-10)
    assert made.relative_value == pytest.approx(1.198126, abs=5e-7)
    assert abs(made.estimate - 0.0042) / 0.0042 == pytest.approx(0.084019, abs=5e-7)
    assert made.ess == pytest.approx(1639.50, abs=5e-3)
    assert made.weights is not None
    assert made.weights.mean == pytest.approx(0.953316, abs=5e-7)
    assert policy_value(LOG, POLICY, "SNIPS").estimate == pytest.approx(0.004775833, abs=5e-10)
    assert made.unseen == 0
    assert made.warnings == ()


def logged(number: int = 400, seed: int = 3) -> pl.DataFrame:
    """Actions by some users, with two policies of their own."""
    draw = np.random.default_rng(seed)
    propensity = draw.uniform(0.1, 0.9, number)
    return pl.DataFrame(
        {
            "reward": draw.binomial(1, 0.3, number),
            "propensity": propensity,
            "target_probability": propensity * draw.uniform(0.5, 1.1, number),
            "user": draw.integers(0, 40, number).astype(str),
        }
    )


def test_equal_rewards_have_no_interval() -> None:
    half = pl.lit(0.5)
    rows = logged().with_columns(reward=pl.lit(1), propensity=half, target_probability=half)
    for resamples in (0, 200):
        made = policy_value(rows, unit="user", resamples=resamples)
        assert made.estimate == 1 and np.isnan([made.means.low, made.means.high]).all()
        reason = "the value is equal for each user"
        assert any(reason in said for said in made.warnings)


@pytest.mark.parametrize("estimator", ["IPS", "SNIPS"])
@pytest.mark.parametrize("resamples", [0, 50])
@pytest.mark.parametrize("centre", [0.0, 0.5])
def test_a_policy_equal_to_that_of_the_log_does_not_differ(
    estimator: str, resamples: int, centre: float
) -> None:
    """0.3 / 3 is 0.1, but for rounding."""
    rows = {"reward": np.random.default_rng(0).random(400) - centre, "propensity": [0.1] * 400}
    rows["target_probability"] = [0.3 / 3] * 400
    found = policy_value(rows, estimator=estimator, resamples=resamples)
    assert found.to_polars().row(2) == ("difference", 0.0, 0.0, None, None)
    assert found.low < found.estimate < found.high


def test_limits_of_a_mean() -> None:
    rows = logged()
    made = policy_value(rows, unit="list")
    terms = (rows["target_probability"] / rows["propensity"] * rows["reward"]).to_numpy()
    low, high = stats.t.interval(0.95, 399, terms.mean(), stats.sem(terms))
    assert (made.low, made.high) == pytest.approx((low, high), rel=1e-12)
    both = stats.ttest_1samp(terms - rows["reward"].to_numpy(), 0).confidence_interval()
    assert (made.means.low[2], made.means.high[2]) == pytest.approx(tuple(both), rel=1e-12)


def test_limits_by_user() -> None:
    """A linearised ratio of sums by user, written out."""
    rows = logged().with_columns(w=pl.col("target_probability") / pl.col("propensity"))
    made = policy_value(rows.drop("w"), None, "SNIPS", unit="user", confidence=0.9)
    weights, reward = rows["w"].to_numpy(), rows["reward"].to_numpy()
    value = (weights * reward).sum() / weights.sum()
    users = rows["user"].to_numpy()
    sums = [float((weights * (reward - value))[users == one].sum()) for one in set(users)]
    error = np.sqrt(len(sums) / (len(sums) - 1) * np.square(sums).sum()) / weights.sum()
    assert made.estimate == pytest.approx(value, rel=1e-12)
    assert made.standard_error == pytest.approx(error, rel=1e-12)
    half_width = error * stats.t.ppf(0.95, len(sums) - 1)
    assert made.high - made.estimate == pytest.approx(half_width, rel=1e-9)
    assert made.n_units == len(sums)


def test_the_unit_must_be_named_where_users_return() -> None:
    rows = logged()
    reason = r"\(40 users, 400 lists\).*unit='user', or unit='list'"
    with pytest.raises(cf.PolicyError, match=reason):
        policy_value(rows)
    for name in ("user", "session"):
        once = rows.with_columns(pl.int_range(pl.len()).cast(pl.String).alias(name)).head(30)
        once = once.select("reward", "propensity", "target_probability", name)
        assert policy_value(once).unit == "list"


def test_bootstrap_of_users() -> None:
    made, again = (policy_value(logged(), unit="user", resamples=4000, seed=5) for _ in "ab")
    plain = policy_value(logged(), unit="user")
    assert (made.high - made.low) == pytest.approx(plain.high - plain.low, rel=0.1)
    assert (made.means.low == again.means.low).all()
    assert "bootstrap, 4,000 resamples, seed 5" in str(made)


def test_clipping_is_told() -> None:
    rows = logged().with_columns(target_probability=pl.lit(0.9))
    made = policy_value(rows, clip=2, unit="list")
    weights = np.minimum((rows["target_probability"] / rows["propensity"]).to_numpy(), 2)
    assert made.estimate == pytest.approx(float((weights * rows["reward"].to_numpy()).mean()))
    assert made.weights is not None
    assert made.weights.max_weight == 2
    assert any("clipped" in said for said in made.warnings)


def shuffled_log() -> Any:
    """Two queries whose two documents are shown in both orders, half the time each."""
    pages = [("q1", "ab", "a"), ("q1", "ba", ""), ("q2", "cd", "d"), ("q2", "dc", "d")]
    results = [
        (page, rank, doc, 0.5)
        for page, (_, shown, _) in enumerate(pages)
        for rank, doc in enumerate(shown, 1)
    ]
    clicks = [
        (page, shown.index(clicked) + 1, clicked)
        for page, (_, shown, clicked) in enumerate(pages)
        if clicked
    ]
    return make_log(
        pl.DataFrame({"id": list("1234"), "query": [page[0] for page in pages]}),
        pl.DataFrame(results, schema=["page", "rank", "doc", "propensity"], orient="row"),
        pl.DataFrame(clicks, schema=["page", "rank", "doc"], orient="row"),
    )


def test_a_run_and_a_log() -> None:
    run = cf.read_run({"q1": {"a": 2.0, "b": 1.0}, "q2": {"d": 2.0, "c": 1.0}})
    made = policy_value(shuffled_log(), run)
    # Pages 1 and 4 show what the run would, each with weight 2, and have a click each.
    assert made.estimate == pytest.approx((2 + 0 + 0 + 2) / 4)
    assert made.logged == pytest.approx(3 / 4)
    assert made.unseen == 0
    pi = policy_value(shuffled_log(), run, "PI", candidates=2)
    assert pi.estimate == pytest.approx(made.estimate)


@pytest.mark.parametrize(("value", "shown"), [(0.0, "0"), (1.5, "1.5"), (None, "none")])
def test_propensities_of_a_log(value: float | None, shown: str) -> None:
    log = shuffled_log()
    given = pl.Series([value, *[0.5] * 7], dtype=pl.Float64)
    wrong = make_log(log.pages, log.results.with_columns(propensity=given), log.clicks)
    run = cf.read_run({"q1": {"a": 2.0, "b": 1.0}})
    with pytest.raises(cf.InputError, match=f"propensity must be above 0 .* got {shown}"):
        policy_value(wrong, run)


def test_what_was_never_shown_is_told() -> None:
    run = cf.read_run({"q1": {"a": 2.0, "new": 1.0}, "q2": {"d": 2.0, "c": 1.0}})
    made = policy_value(shuffled_log(), run)
    assert made.unseen == pytest.approx(1 / 4)
    assert any("25.0% of the actions of the policy" in said for said in made.warnings)
    short = policy_value(shuffled_log(), cf.read_run({"q1": {"a": 2.0, "b": 1.0}}))
    assert any("2 lists of queries" in said for said in short.warnings)


def test_a_wrong_mean_weight_is_told() -> None:
    rows = logged().with_columns(target_probability=pl.col("propensity") * 0.5)
    assert any("mean weight" in said for said in policy_value(rows, unit="list").warnings)


def test_one_unit_has_no_limits() -> None:
    rows = logged().with_columns(user=pl.lit("ann"))
    made = policy_value(rows, unit="user")
    assert np.isnan(made.low)
    assert "no confidence interval" in str(made)


ROWS: dict[str, list[Any]] = {"action": [*"abab"], "reward": [1, 0, 0, 1], "propensity": [0.5] * 4}
TARGET = {"action": ["a", "b"], "probability": [0.8, 0.2]}
RIGHT = {"reward": [1, 0], "propensity": [0.5, 0.5], "target_probability": [0.5, 0.5]}
EXPECTED = {"expected": [0.5] * 2}
UNEVEN = {"propensity": [0.3, 0.7], "anywhere": [0.5, 0.5]}
TWICE: dict[str, Any] = {"page": ["<b>", "<b>"], "position": [1, 1]}
NEGATIVE: dict[str, Any] = {"page": ["a", "a"], "position": [0, -1]}
LOG, POLICY = bandit()


def with_columns(**columns: list[Any]) -> object:
    rows = RIGHT | columns
    return policy_value([dict(zip(rows, x, strict=True)) for x in zip(*rows.values(), strict=True)])


def with_options(estimator: Any = None, rows: Any = None, **options: Any) -> object:
    return policy_value(RIGHT | (rows or {}), None, *([estimator] if estimator else []), **options)


REFUSALS: dict[str, list[Refusal]] = {
    "columns": [
        (lambda: with_columns(propensity=[0.5, 0.0]), "row 2: propensity must be above 0"),
        (lambda: with_columns(propensity=[1.5, 0.5]), "row 1: propensity must be above"),
        (lambda: with_columns(target_probability=[0.5, -0.1]), "probability must be .*, got -0.1"),
        (lambda: policy_value({"reward": [1.0], "propensity": [0.5]}), "IPS requires a column"),
        (lambda: with_columns(reward=[1, "x"]), "reward 'x' is not a finite number"),
        (lambda: with_columns(page=["a", "a"]), "requires a column position"),
        (lambda: with_columns(position=[1, float("nan")]), "has no position"),
        (lambda: with_columns(**NEGATIVE), "row 2: position must be at least 0, got -1"),
        (lambda: with_columns(**TWICE), "page '<b>' has position 1 more than once"),
        (lambda: policy_value(RIGHT, TARGET), "probability, which cannot be combined with a pol"),
        (lambda: policy_value(ROWS | {"action": ["a", None, *"ab"]}, TARGET), "got 1 row without"),
    ],
    "options": [
        (lambda: with_options(unit="user"), "intervals by user require the user"),
        (lambda: with_options("DR"), "DR requires a column 'expected'"),
        (lambda: with_options("DRR"), "unknown estimator 'DRR'; expected one of:"),
        (lambda: with_options(depends="all"), "unknown depends 'all'; expected one of:"),
        (lambda: with_options(clip=0), "clip must be a number above 0"),
        (lambda: with_options("PI"), "the estimator PI requires candidates"),
        (lambda: with_options("PI", UNEVEN, candidates=2), "PI requires propensities of 1"),
        (lambda: policy_value(ROWS, TARGET, has_repeats=True), "require the estimator PI"),
        (
            lambda: with_options("PI", candidates=2, depends="list"),
            "requires candidates and depends",
        ),
        (
            lambda: with_options("DM", EXPECTED, clip=2),
            "clip cannot be combined with the estimator DM",
        ),
    ],
    "policies": [
        (lambda: policy_value(LOG, POLICY[1:]), "position '1' must sum to 1, got 0.989"),
        (
            lambda: policy_value(LOG, pl.concat([POLICY, POLICY[:1]])),
            "action '0' of position '1' occurs",
        ),
        (lambda: policy_value(LOG, {"action": ["x"], "probability": [1]}), "none of the logged"),
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])


def test_dicts_of_columns_and_boolean_rewards(tmp_path: Path) -> None:
    expected = policy_value(pl.DataFrame(ROWS), pl.DataFrame(TARGET)).estimate
    rewards = [reward == 1 for reward in ROWS["reward"]]
    assert policy_value(ROWS, TARGET).estimate == expected
    assert policy_value(ROWS | {"reward": rewards}, TARGET).estimate == expected
    pl.DataFrame(ROWS | {"reward": rewards}).write_csv(tmp_path / "rows.csv")
    assert policy_value(tmp_path / "rows.csv", TARGET).estimate == expected


@pytest.mark.parametrize("start", [0, 1])
def test_positions_of_a_run_count_as_in_the_log(start: int) -> None:
    docs, rewards = [*"abbaabba"], [1, 0, 0, 0, 1, 0, 1, 0]
    rows = {"page": [*"00112233"], "position": [start, start + 1] * 4, "query": ["q"] * 8}
    rows |= {"action": docs, "reward": rewards, "propensity": [0.5] * 8}
    run = cf.read_run({"q": {"a": 2.0, "b": 1.0}})
    # Rewards of a at the first and of b at the second position, over the propensity.
    shown = zip(docs, "ab" * 4, rewards, strict=True)
    expected = sum(reward / 0.5 for doc, best, reward in shown if doc == best)
    assert policy_value(rows, run).estimate == expected / 4
    table = {"action": ["a", "b"], "position": [1 - start, 2 - start], "probability": [1.0, 1.0]}
    with pytest.raises(cf.InputError, match=f"from {start} in the log, but from {1 - start} in"):
        policy_value(rows, table)
