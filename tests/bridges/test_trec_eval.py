"""trec_eval's own tests: its options, its files, its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner, Result

import cranfield as cf
from cranfield.bridges.trec_eval import trec_eval_lines
from cranfield.bridges.trec_eval.preferences import read_preferences, topic_values
from cranfield.cli.main import app
from tests.conftest import TREC_EVAL

OWN = {
    "out.test": "qrels.test.gz results.test.gz",
    "out.test.a": "-m all_trec qrels.test.gz results.test.gz",
    "out.test.aq": "-m all_trec -q qrels.test.gz results.test.gz",
    "out.test.aqc": "-m all_trec -q -c qrels.test.gz results.trunc.gz",
    "out.test.aqcM": "-m all_trec -q -c -M100 qrels.test.gz results.trunc.gz",
    "out.test.aql": "-m all_trec -mrelstring.20 -q -l2 qrels.rel_level.gz results.test.gz",
    "out.test.aqZ": "-q -m all_trec -Z zscores_file qrels.test.gz results.test.gz",
    "out.test.prefs": "-m all_prefs -q -R prefs prefs.test prefs.results.test",
    "out.test.qrels_prefs": "-m all_prefs -q -R qrels_prefs qrels.test.gz results.test.gz",
    "out.test.qrels_jg": "-m qrels_jg -q -R qrels_jg qrels.123.gz results.test.gz",
    "out.test.meas_params": "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3"
    " -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75"
    " -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20 qrels.test.gz results.test.gz",
}


def invoked(words: str) -> Result:
    paths = [(word, TREC_EVAL / word) for word in words.split()]
    here = [str(path) if path.exists() else word for word, path in paths]
    return CliRunner().invoke(app, ["trec_eval", *here])


def printed(words: str) -> str:
    result = invoked(words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", OWN)
def test_its_own_tests(name: str) -> None:
    assert printed(OWN[name]) == (TREC_EVAL / name).read_text()


def test_comments_in_preferences() -> None:
    found = printed("-m all_prefs -q -R prefs prefs.comment.test prefs.results.test")
    assert found == (TREC_EVAL / "out.test.prefs").read_text()


def test_long_options_and_no_summary() -> None:
    short = printed("-q -n -l2 -M5 -J -c -m P.5 qrels.rel_level.gz results.test.gz")
    long = printed(
        "--query_eval_wanted --nosummary --level_for_rel 2 --Max_retrieved_per_topic 5"
        " --Judged_docs_only --complete_rel_info_wanted --measure P.5 --Rel_info_format qrels"
        " qrels.rel_level.gz results.test.gz"
    )
    assert short == long
    assert "all" not in short
    assert len(short.splitlines()) == 3


def test_preferences_that_are_counted_by_hand(tmp_path: Path) -> None:
    """Two groups; the second judged in two parts, of which transitivity makes a > b > c > d."""
    file = tmp_path / "prefs"
    file.write_text(
        "1 u x a 2\n1 u x b 1\n1 u x c 0\n"  # a > b, a > c, b > c
        "1 v x b 3\n1 v x c 2\n1 v y c 3\n1 v y d 1\n"  # b > c, c > d, so b > d
    )
    # Retrieved are b and a, in this order: b > a fails, what is above c and d is implied.
    found = topic_values(read_preferences(file, "prefs"), ["b", "x", "a"])
    assert found["prefs_num_prefs_poss"] == 6
    assert found["prefs_num_prefs_ful"] == 4
    assert found["prefs_num_prefs_ful_ret"] == 0
    assert found["prefs_simp"] == pytest.approx(4 / 6)
    # Pairs: a-b 0, a-c 1, b-c 1 (both groups agree), b-d 1, c-d 0.
    assert found["prefs_pair"] == pytest.approx(3 / 5)
    assert found["prefs_avgjg"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found["prefs_simp_imp"] == pytest.approx(4 / 5)
    assert found["prefs_simp_ret"] == 0


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        (
            "1 g d 1\n",
            "prefs",
            "1: 4 columns where a line of prefs has 5",
        ),
        ("1 g s d x\n", "prefs", ":1: level 'x' is not a finite number"),
        ("1 g s d -1\n", "prefs", "level -1 is below 0"),
        ("# nothing\n", "qrels_prefs", "is empty"),
        ("1 g s d 1\n1 g t d 0\n1 g t e 1\n", "prefs", "document 'd' at level 0 and above"),
        ("9 g s d 1\n", "prefs", "no topic of the run is judged"),
    ],
)
def test_preferences_that_are_refused(text: str, form: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "judged"
    file.write_text(text)
    with pytest.raises(cf.InputError, match=said):
        list(trec_eval_lines(file, {"1": {"d": 1.0, "e": 0.5}}, ["all_prefs"], form=form))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-m nonsense", "illegal measure 'nonsense'"),
        ("-m P.x", "cutoff 'x' is no number"),
        ("-m rbp.p=x", "persistence 'p=x' is no number"),
        ("-m prefs_simp", "prefs_simp is computed from prefs, not from qrels"),
        ("-m map -R qrels_jg", "map is computed from qrels, not from qrels_jg"),
        ("-Z qrels.test.gz", "qrels.test.gz:1: mean 'CR93E-10279' is not a finite number"),
    ],
)
def test_what_is_refused(words: str, said: str) -> None:
    paths = [TREC_EVAL / "qrels.test.gz", TREC_EVAL / "results.trunc.gz"]
    asked = [str(paths[0]) if word == "qrels.test.gz" else word for word in words.split()]
    with pytest.raises(ClickException) as caught:
        app(["trec_eval", *asked, *map(str, paths)], standalone_mode=False)
    assert said in caught.value.message


def test_z_scores_of_what_varies_not(tmp_path: Path) -> None:
    file = tmp_path / "z"
    file.write_text("1 map 0.5 0\n1 P_1 0.5 0.25\n1 recip_rank 0.5 0\n")
    words = ["map", "P.1", "recip_rank", "Rprec"]
    from cranfield.bridges.trec_eval.z_scores import read_z_scores

    z = read_z_scores(file)
    lines = trec_eval_lines({"1": {"a": 1, "b": 0}}, {"1": {"a": 0.0, "b": 1.0}}, words, z_scores=z)
    assert {line.split()[0]: float(line.split()[2]) for line in lines} == {
        "Zmap": 0.0,
        "ZRprec": -1e6,
        "Zrecip_rank": 0.0,
        "ZP_1": -2.0,
    }
