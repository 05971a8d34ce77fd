"""Measures of click models against all that users may do on short lists, one case after another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures.grammar import MAX_LENGTH
from cranfield.measures.users.clicks import ChainMeasure, click_user_model
from tests.measures.rankings import judge_rankings, values

CLICKS = {None: 0.35, 0: 0.15, 1: 0.45, 2: 0.85, 3: 0.7}
SATISFIES = {None: 0.05, 0: 0.2, 1: 0.4, 2: 0.75, 3: 1.0}
CONTINUES = {1: 0.9, 2: 0.55, 4: 0.2}
GAMMA = 0.83
TAU = (0.9, 0.7, 0.25)
BROWSING = {
    rank: {last: round(0.97**rank * 0.8 ** (rank - last), 6) for last in range(rank)}
    for rank in range(1, 5)
}
rankings = st.lists(st.sampled_from([None, 0, 1, 2, 3]), min_size=1, max_size=5)

Ranking = list[int | None]


def going_on(model: str, rank: int, grade: int | None, clicked: int, satisfied: int) -> float:
    """The chance that a user goes on, as each model says it in words."""
    if model == "DBN":
        return GAMMA * (not satisfied)
    if model == "DCM":
        continues = [CONTINUES[max(one for one in CONTINUES if one <= rank)], 1.0]
        return continues[not clicked]
    if model == "CCM":
        return TAU[0] if not clicked else TAU[1 + satisfied]
    assert model == "EBU"
    return 1 - SATISFIES[grade] if clicked else GAMMA


def satisfying(model: str, grade: int | None) -> float:
    return {"DBN": SATISFIES[grade], "CCM": CLICKS[grade]}.get(model, 0.0)


def visits(model: str, ranking: Ranking) -> Iterator[tuple[float, list[int], list[int], int]]:
    """All that can happen: its chance, clicks, which of them satisfy, and ranks examined."""
    for depth in range(1, len(ranking) + 1):
        for clicks, happy in product(product((0, 1), repeat=depth), repeat=2):
            chance = 1.0
            for at, (grade, click, joy) in enumerate(
                zip(ranking[:depth], clicks, happy, strict=True), 1
            ):
                chance *= CLICKS[grade] if click else 1 - CLICKS[grade]
                yes = satisfying(model, grade) if click else 0.0
                chance *= yes if joy else 1 - yes
                on = going_on(model, at, grade, click, joy)
                if at < depth:
                    chance *= on
                elif depth < len(ranking):
                    chance *= 1 - on
            yield chance, list(clicks), list(happy), depth


def expected(model: str, ranking: Ranking) -> tuple[float, float]:
    """Utility with gain grade / 3, and effort, over all that can happen."""
    utility = effort = whole = 0.0
    for chance, clicks, happy, depth in visits(model, ranking):
        whole += chance
        utility += chance * sum(
            click * (grade or 0) / 3 for click, grade in zip(clicks, ranking, strict=False)
        )
        if model == "DCM":
            # Who clicks on the last rank is satisfied if there would be no going on.
            last = clicks[-1] / depth
            stops = 1 - going_on(model, depth, 0, 1, 0) if depth == len(ranking) else 1.0
            effort += chance * last * stops
        else:
            effort += chance * sum(joy / rank for rank, joy in enumerate(happy, 1))
    assert whole == pytest.approx(1, abs=1e-12)
    return utility, effort


OPTIONS = {
    "DBN": f"satisfies={SATISFIES}, gamma={GAMMA}",
    "DCM": f"continues={CONTINUES}",
    "CCM": f"tau1={TAU[0]}, tau2={TAU[1]}, tau3={TAU[2]}",
    "EBU": f"leaves={SATISFIES}, gamma={GAMMA}",
}


@pytest.mark.parametrize("model", OPTIONS)
@settings(max_examples=8, deadline=None)
@given(ranking=rankings)
def test_all_that_users_may_do(model: str, ranking: Ranking) -> None:
    options = f"clicks={CLICKS}, {OPTIONS[model]}"
    runs = judge_rankings(ranking)
    utility, effort = expected(model, ranking)
    name = "EBU" if model == "EBU" else f"u{model}"
    text = f"{name}({options}, gains='graded', max_grade=3)"
    assert values(runs, text) == pytest.approx([utility], abs=1e-12)
    if model != "EBU":
        assert values(runs, f"rr{model}({options})") == pytest.approx([effort], abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(rankings)
def test_user_browsing_model(ranking: Ranking) -> None:
    """Over all sequences of clicks, whose chances follow from the last click above each rank."""
    utility = 0.0
    for clicks in product((0, 1), repeat=min(len(ranking), len(BROWSING))):
        chance, last = 1.0, 0
        for rank, click in enumerate(clicks, 1):
            here = CLICKS[ranking[rank - 1]] * BROWSING[rank][last]
            chance *= here if click else 1 - here
            last = rank if click else last
        found = [click for click, grade in zip(clicks, ranking, strict=False) if grade]
        utility += chance * sum(found)
    text = f"uUBM(clicks={CLICKS}, examined_after={BROWSING})"
    assert values(judge_rankings(ranking), text) == pytest.approx([utility], abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(rankings)
def test_models_that_are_others(ranking: Ranking) -> None:
    runs = judge_rankings(ranking)

    def same(one: str, other: str) -> None:
        assert values(runs, one) == pytest.approx(values(runs, other), abs=1e-12)

    clicks = f"clicks={CLICKS}"
    leaves = {grade: 1 - GAMMA * (1 - chance) for grade, chance in SATISFIES.items()}
    same(
        f"EBU({clicks}, leaves={leaves}, gamma={GAMMA})",
        f"uDBN({clicks}, satisfies={SATISFIES}, gamma={GAMMA})",
    )
    # Of chances to examine that do not go by the last click.
    flat = {rank: dict.fromkeys(range(rank), 0.9**rank) for rank in range(1, 6)}
    examined = {rank: 0.9**rank for rank in range(1, 6)}
    same(f"uUBM({clicks}, examined_after={flat})", f"uPBM({clicks}, examined={examined})")
    same(
        f"uSDBN({clicks}, satisfies={SATISFIES}, examined={{1: 1, 2: 0.5, 3: 0.25, 4: 0.125}})@4",
        f"uDBN({clicks}, satisfies={SATISFIES}, gamma=0.5)@4",
    )
    # Who is satisfied at all ranks alike: footnote 26 of the paper holds then, and only then.
    same(
        f"rrDCM({clicks}, continues={{1: 0.4}})",
        f"rrSDBN({clicks}, satisfies={dict.fromkeys(CLICKS, 0.6)})",
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=6))
def test_effort_of_sdbn_is_err(ranking: Ranking) -> None:
    """With R = a s, on documents that are judged; ERR's R of grade g is (2^g - 1) / 8."""
    clicks = {0: 0.3, 1: 0.25, 2: 0.5, 3: 0.9}
    satisfies = {grade: (2**grade - 1) / 8 / clicks[grade] for grade in clicks}
    text = f"rrSDBN(clicks={clicks}, satisfies={satisfies})"
    runs = judge_rankings(ranking)
    assert values(runs, text) == pytest.approx(values(runs, "ERR(max_grade=3)"), abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(rankings, st.booleans())
def test_user_of_given_chances(ranking: Ranking, named: bool) -> None:
    """CWL down to rank 1000, one rank after another."""
    by_grade: dict[int | None, float] = {0: 0.9, 2: 0.5}
    if named:
        by_grade[None] = 0.97
    by_rank = {1: 0.95, 3: 0.8}
    found = read = 0.0
    still = 1.0
    for rank in range(1, 1001):
        grade = ranking[rank - 1] if rank <= len(ranking) else None
        read += still
        found += still * ((grade or 0) >= 1)
        going = {None: by_grade.get(None, 0.9), 0: 0.9, 1: 0.9, 2: 0.5, 3: 0.5}[grade]
        still *= going * by_rank[max(one for one in by_rank if one <= rank)]
    options = f"by_grade={by_grade}, by_rank={by_rank}"
    told = [values(judge_rankings(ranking), text.format(f"CWL({options})"))[0] for text in USERS]
    assert told == pytest.approx([found / read, found, read], abs=1e-12)


USERS = ("{}", "ETU({})", "Depth({})")


def test_documents_without_a_judgment() -> None:
    """They are as grade 0 and count for nothing, unless they are named; those beyond the list
    never count."""
    for text, score in (
        ("rrSDBN(clicks={0: 0.5, 1: 1}, satisfies={0: 0.5, 1: 1})", 0.375),
        ("rrSDBN(clicks={None: 0, 0: 0.5, 1: 1}, satisfies={0: 0.5, 1: 1})", 0.5),
        ("rrSDBN(clicks={None: 1, 1: 1}, satisfies={None: 0.5, 1: 1})", 0.75),
        ("uSDBN(clicks={None: 1, 1: 1}, satisfies={None: 0.5, 1: 1})", 0.5),
    ):
        assert values(judge_rankings([None, 1], [1]), text) == pytest.approx([score, 1.0])


def test_cutoff_and_condensed_lists() -> None:
    runs = judge_rankings([None, 1, 1])
    options = "clicks={0: 0.5, 1: 0.8}, satisfies={0: 1, 1: 0.5}"
    assert values(runs, f"uSDBN({options})@2") == pytest.approx([0.5 * 0.8])
    assert values(runs, f"uSDBN({options}, judged_only=True)@1") == pytest.approx([0.8])


@pytest.mark.parametrize(
    "text",
    [
        "uDBN(clicks={None: 0.4, -2: 0.1913, 4: 0.5293}, satisfies={4: 0.3475}, gamma=0.8349)",
        "rrSDBN(clicks={0: 0.1, 1: 0.30000000000000004}, satisfies={1: 0.3333333333333333})@10",
        "EBU(clicks={1: 0.8}, leaves={None: 0.1, 1: 0.5}, gamma=0.9, gains='graded')@8",
        "rrDCM(clicks={1: 0.8}, continues={1: 0.4, 5: 0.1})",
        "uCCM(clicks={1: 0.8}, tau1=1, tau2=0.5, tau3=0)",
        f"uUBM(clicks={CLICKS}, examined_after={BROWSING})@3",
    ],
)
def test_text_reads_back(text: str) -> None:
    made = cf.parse_measure(text)
    assert str(cf.parse_measure(str(made))) == str(made)
    again = cf.parse_measure(str(made))
    runs = judge_rankings([1, None, 2, 0])
    assert values(runs, str(again)) == values(runs, text)


def test_a_browsing_model_of_ten_ranks_has_a_text() -> None:
    rng = np.random.default_rng(1)
    browsing = {rank: dict(enumerate(rng.random(rank).tolist())) for rank in range(1, 11)}
    clicks = dict(enumerate(rng.random(5).tolist()))
    made = cf.measures.uUBM(clicks=clicks, examined_after=browsing)
    assert 1000 < len(str(made)) < MAX_LENGTH
    assert cf.parse_measure(str(made)) == made


@pytest.mark.parametrize("name", ["uDBN", "rrDBN", "uDCM", "rrDCM", "uCCM", "rrCCM", "EBU"])
def test_forms_are_exact(name: str) -> None:
    """The exact value of a run is its score; floats are only near it."""
    options = OPTIONS[name.removeprefix("rr").removeprefix("u")]
    text = f"{name}(clicks={CLICKS}, {options})"
    runs: list[Ranking] = [[*one] for one in product((0, 1, 2), repeat=3)]
    found = cf.scales.score_runs(text, runs, grades=2)
    scored = values(judge_rankings(*runs), text)
    np.testing.assert_allclose(found, scored, atol=1e-12)
    assert "floats" not in str(cf.scale_of(text, 3, 2))


def test_a_position_based_model_is_linear() -> None:
    assert cf.parse_measure("uPBM(clicks={1: 0.5}, examined={1: 1, 2: 0.5})").is_linear
    assert not cf.parse_measure("uSDBN(clicks={1: 0.5}, satisfies={1: 0.5})").is_linear
    # Every click satisfies nobody: what is found is a count, on an interval scale.
    assert str(cf.scale_of("uPBM(clicks={1: 0.5})@4", 4).scale) == "interval"


def test_users_continue_at_grades_that_are_never_clicked() -> None:
    """A grade that `clicks` does not list is not clicked, also in the user model."""
    measure = cf.parse_measure("uM(clicks={1: 0.8, 3: 0.5}, satisfies={1: 0.5, 3: 1})")
    assert isinstance(measure, ChainMeasure)
    user = click_user_model(measure)
    reading = user.read(np.zeros(5), grades=[0, 2, 1, np.nan, 3])
    assert reading.continuation[0].tolist() == pytest.approx([1, 1, 0.6, 1, 0.5], abs=1e-12)
