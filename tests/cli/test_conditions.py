"""Options that would have no effect are refused, by what they are declared to go with."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cranfield.cli.options.declaring import Option, command, option
from tests.cli.running import commands, cranfield, refusals, refused


@command()
@option("--format", type=click.Choice(["text", "json", "csv"]), default="text")
@option("--judged")
@option("--sample", is_flag=True)
@option("--size", default=5, requires=("--sample !--judged", "--budget"))
@option("--places", default=4, requires="--format=text,csv")
@option("--shared", requires="--elsewhere")
def some(**given: object) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", None),
        ("--size 3 --sample", None),
        ("--size 3", "--size requires --sample (without --judged)"),
        ("--size 5", "--size requires --sample (without --judged)"),
        ("--size 3 --sample --judged x", "--size cannot be combined with --judged"),
        ("--places 2", None),
        ("--places 2 --format csv", None),
        ("--places 2 --format json", "--places requires --format text or csv"),
        # A command that lacks what a shared option may go with has no such condition.
        ("--shared x", None),
    ],
)
def test_conditions(given: str, said: str | None) -> None:
    assert isinstance(some, click.Command)
    if said is None:
        some.main(given.split(), standalone_mode=False)
        return
    with pytest.raises(click.ClickException) as caught:
        some.main(given.split(), standalone_mode=False)
    assert caught.value.format_message() == said


def test_what_options_go_with_is_there() -> None:
    """Each condition is one of some command, so that no misspelt name is passed over."""
    declared: dict[str, bool] = {}
    for _, one, _ in commands():
        names = {name for each in one.params for name in each.opts}
        names |= {each.human_readable_name.strip("[].") for each in one.params}
        for each in one.params:
            for way in each.requires if isinstance(each, Option) else ():
                parts = {part.removeprefix("!").partition("=")[0] for part in way.split()}
                declared[way] = declared.get(way, False) or parts <= names
    assert len(declared) > 10 and all(declared.values())


@refusals(
    """
judges qrels qrels --ties trec | setting ties requires --runs or --own-runs
judges qrels qrels --compat gdeval | setting compat requires --runs or --own-runs
judges qrels qrels --groups qrels | setting groups requires --runs or --own-runs
judges qrels qrels --runs r.run --own-runs | --runs cannot be combined with --own-runs
study scales qrels r.run --graded --rel 1 | --graded cannot be combined with setting rel
study scales qrels r.run --max-grade 2 | setting max-grade requires --graded
evaluate --scores qrels --coverage | --coverage cannot be combined with --scores
evaluate qrels r.run --coverage --as equity | --coverage requires --as scores or tie-ranges
pool r.run --rel 2 | --rel requires --next or --budget and --judged or --stop
pool r.run --seed 2 | --seed requires --next or --budget or --sample
evaluate qrels r.run -p 2 -f json | --places requires --format table, ir_measures,
evaluate qrels r.run -p 2 -f trec | --places requires --format table, ir_measures,
evaluate qrels r.run --caption x | setting caption requires --format latex
online preference --counts 9,3 --clicks sat | --clicks requires LOG
online preference --counts 9,3 --on-anomaly count | --on-anomaly requires LOG
online experiment u.csv --metric x --on-anomaly count | --on-anomaly requires --measure
online interleave r.run r.run --impressions 1 --keys k.csv | --keys cannot be combined with
"""
)
def test_options_without_effect(tmp_path: Path, words: list[str], reason: str) -> None:
    (tmp_path / "r.run").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    refused(tmp_path, *words, reason=reason)


def test_options_with_effect(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    for line in (
        "pool r.run --next 1 --rel 2 --seed 3",
        "evaluate qrels r.run -p 2",
        "evaluate qrels r.run -p 2 -f latex --caption x",
        "evaluate qrels r.run -p 2 -f ir_measures",
    ):
        assert cranfield(tmp_path, *line.split())[0]


def test_a_seed_that_a_method_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    start = ["pool", "r.run", "--budget", "1", "--seed", "5"]
    said = "warning: --seed has no effect: depth draws no random numbers"
    assert said in cranfield(tmp_path, *start)[1]
    for more in ("--arranged shuffled", "--assessors 2 -o sheet-{}"):
        assert "no effect" not in cranfield(tmp_path, *start, *more.split())[1]
    learning = ["pool", "r.run", "--next", "1", "--seed", "5", "--method", "random"]
    assert "no effect" not in cranfield(tmp_path, *learning)[1]


def test_an_aspect_is_used_where_a_measure_names_it(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 1\n")
    (tmp_path / "bad").write_text("1 0 b 1\n")
    (tmp_path / "r.run").write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    start = ("evaluate", "qrels", "r.run", "--aspect", "bad=bad", "-m")
    assert "no effect" not in cranfield(tmp_path, *start, "CompatDiff(harm='bad')")[1]
    assert "--aspect has no effect" in cranfield(tmp_path, *start, "CompatDiff")[1]


@pytest.mark.parametrize("option", ["--seed", "--resamples"])
def test_samples_that_nobody_draws(option: str, tmp_path: Path) -> None:
    rows = [
        f"{topic},{system},{k * n % 7}"
        for k, topic in enumerate("abcdef")
        for n, system in ((2, "x"), (3, "y"), (5, "z"))
    ]
    (tmp_path / "s.csv").write_text("\n".join(["topic,system,score", *rows]))
    start = ("compare", "--scores", "s.csv", "-m", "AP", option, "50")
    said = f"{option} has no effect: the test and the correction do not resample"
    assert said in cranfield(tmp_path, *start, "-t", "t", "-c", "holm")[1]
    listed = ("--as", "checklist")
    assert said in cranfield(tmp_path, *start, "-t", "t", "-c", "holm", *listed)[1]
    assert "no effect" not in cranfield(tmp_path, *start, "-t", "randomisation", *listed)[1]
    assert "no effect" not in cranfield(tmp_path, *start, "-t", "randomisation")[1]
    assert "no effect" not in cranfield(tmp_path, *start[:-2], "-t", "t", "-c", "holm")[1]
    exact = start[:-2]
    said = "exact has no effect: this test computes p-values in only one way"
    assert said in cranfield(tmp_path, *exact, "-t", "t", "--exact")[1]
    assert "no effect" not in cranfield(tmp_path, *exact, "-t", "randomisation", "--exact")[1]
