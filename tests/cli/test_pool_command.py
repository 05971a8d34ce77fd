"""`cranfield pool`: lists, reports, and what does not go together."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.cli.running import cranfield, refusals, refused


def test_reports(campaign: Path) -> None:
    (campaign / "some.txt").write_text(
        "".join((campaign / "qrels.txt").read_text().splitlines(keepends=True)[:100])
    )
    out, _ = cranfield(campaign, "pool", "s?.run", "--depth", "5")
    assert out.startswith("pool of ")
    assert "12 topics, 6 systems, depth 5" in out
    out, err = cranfield(campaign, "pool", "s?.run", "--judged", "some.txt", "--format", "json")
    found = json.loads(out)
    pool = cf.assess.pool(campaign.glob("s?.run"), 100)
    unjudged = pool.find_unjudged(campaign / "some.txt")
    assert found["topics"] == unjudged.by_topic().to_dicts()
    assert found["systems"] == unjudged.by_system().to_dicts()
    assert found["judged"] == len(pool) - len(unjudged)
    outside = 100 - found["judged"]
    assert outside == 0 or f"ignored: {outside} judgment" in err
    args = ("--judged", "some.txt", "--stop", "CMH", "--stop", "knee(min_judgments=2)")
    out, _ = cranfield(campaign, "pool", "s?.run", *args, "--table", "stops", "--format", "csv")
    rows = pl.read_csv(out.encode())
    assert rows["rule"].unique(maintain_order=True).to_list() == [
        "RecallTest",
        "Knee(min_judgments=2)",
    ]
    said = cf.assess.stopping_by_topic(pool, campaign / "some.txt", ["RecallTest"])
    values = rows.filter(rule="RecallTest")["value"].to_list()
    assert values == [one.list_verdicts()[0].value for one in said.values()]
    out, _ = cranfield(campaign, "pool", "s?.run", *args)
    assert "not a valid p-value" in out


def test_a_budget_beyond_all_numbers_is_the_whole_pool(campaign: Path) -> None:
    out, _ = cranfield(campaign, "pool", "s?.run", "--budget", "9" * 30)
    assert len(out.splitlines()) == len(cf.assess.pool(campaign.glob("s?.run"), 100))


def test_judging_step_by_step(campaign: Path) -> None:
    """The next documents, again and again from the judgments alone, are the order of the method."""
    judged = campaign / "judged.txt"
    judged.unlink(missing_ok=True)
    qrels = cf.read_qrels(campaign / "qrels.txt")
    pool = cf.assess.pool(campaign.glob("s?.run"), 100)
    order = cf.assess.order(pool, "Thompson", qrels, seed=3, batch=9)
    lines: list[str] = []
    for step in range(9):
        args = ["--method", "thompson", "--seed", "3", "--next", "9"]
        args += ["--judged", "judged.txt"] if lines else []
        out, _ = cranfield(campaign, "pool", "s?.run", *args)
        if not out:
            break
        grades = pool.get_grades(qrels)
        known = {
            (pool.topics[t], doc): g
            for t, doc, g in zip(pool.topic, pool.docs, grades.tolist(), strict=True)
        }
        # Some sessions end in the midst of a batch.
        asked = out.splitlines()[: 40 if step % 2 else None]
        for line in asked:
            topic, _, doc = line.split()
            lines.append(f"{topic} 0 {doc} {known[topic, doc]}")
        judged.write_text("".join(f"{line}\n" for line in lines))
    else:
        raise AssertionError("it does not end")
    for topic in pool.topics:
        wanted = order.to_polars().filter(topic=topic)["doc"].to_list()
        assert [line.split()[2] for line in lines if line.split()[0] == topic] == wanted


def test_sheets(campaign: Path) -> None:
    args = ("pool", "s?.run", "--budget", "4", "--method", "rrf", "--assessors", "ann,bob")
    cranfield(campaign, *args, "--overlap", "0.5", "-o", "sheet-{}.tsv")
    ann, bob = (pl.read_csv(campaign / f"sheet-{n}.tsv", separator="\t") for n in ("ann", "bob"))
    assert ann.height == bob.height == 36
    assert ann.join(bob, on=["topic", "doc"]).height == 24
    _, err = cranfield(campaign, *args, "-o", "sheet.tsv", status=2)
    assert "in the file name for 2 assessors, got 'sheet.tsv'" in err
    out, err = cranfield(campaign, "pool", "s?.run", "--unjudged", "--judged", "qrels.txt")
    assert out == ""
    assert err.startswith("unjudged: 0 of ") and "without judgments" not in err


def test_the_number_of_unjudged_documents_is_printed(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(
        "".join(f"{q} Q0 d{k} {k} {9 - k} a\n" for q in "xyz" for k in (1, 2))
    )
    (tmp_path / "judged.txt").write_text("x 0 d1 1\n")
    command = ("pool", "a.run", "--depth", "2", "--judged", "judged.txt", "--unjudged")
    _, err = cranfield(tmp_path, *command, "-o", "sheet.tsv")
    start = "unjudged: 5 of 6 pooled documents, in 3 of 3 topics"
    assert err == f"{start}; 4 in 2 topics without judgments\n"
    assert len((tmp_path / "sheet.tsv").read_text().splitlines()) == 1 + 5


def test_samples(campaign: Path) -> None:
    args = ("pool", "s?.run", "--sample", "stat", "--size", "5", "--seed", "2")
    out, _ = cranfield(campaign, *args, "--format", "tsv")
    pool = cf.assess.pool(campaign.glob("s?.run"), 100)
    drawn = cf.assess.sample(pool, "stat", size=5, seed=2)
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == drawn.to_polars()[
        "doc"
    ].to_list()
    out, _ = cranfield(campaign, *args, "--judged", "qrels.txt", "--format", "json")
    found = json.loads(out)["relevant"]
    assert found == drawn.estimate_relevant(campaign / "qrels.txt").to_polars().to_dicts()
    cranfield(campaign, *args, "--judged", "qrels.txt", "--format", "prels", "-o", "s.prels")
    back = cf.read_qrels(campaign / "s.prels", format="prels")
    assert back.to_polars().equals(drawn.to_qrels(campaign / "qrels.txt").to_polars())
    _, err = cranfield(campaign, *args, "--judged", "qrels.txt", "-o", "s.tsv", status=2)
    assert "got tsv (by the suffix of --output)" in err
    by_depth = ("pool", "s?.run", "--sample", "strata", "--strata", "2:100%,10:3")
    cranfield(campaign, *by_depth, "--judged", "qrels.txt", "--format", "xqrels", "-o", "s.xqrels")
    strata = cf.assess.sample(pool, "strata", strata={2: 1.0, 10: 3})
    back = cf.read_qrels(campaign / "s.xqrels", format="xqrels")
    assert back.to_polars().equals(strata.to_qrels(campaign / "qrels.txt", ["stratum"]).to_polars())
    # In YAML, strata are a mapping as in Python; a decimal number is refused, as for --size.
    settings = campaign / "mapping.yml"
    settings.write_text("strata: {2: 100%, 10: 3}\n")
    mapped = (*by_depth[:4], "--settings", "mapping.yml", "--judged", "qrels.txt")
    cranfield(campaign, *mapped, "--format", "xqrels", "-o", "m.xqrels")
    assert (campaign / "m.xqrels").read_bytes() == (campaign / "s.xqrels").read_bytes()
    settings.write_text("strata: {2: 1.0, 10: 0.4}\n")
    _, err = cranfield(campaign, *mapped, status=2)
    assert "setting strata 2: must be an integer or a percentage such as 10%, got '1.0'" in err


@refusals(
    """
--next 3 --budget 4 | --next cannot be combined with --budget
--unjudged | --unjudged requires --judged
--stop knee | --stop requires --judged
--stop kne --judged qrels.txt | unknown stopping rule 'kne'; did you mean Knee
--stop target --judged qrels.txt | Target requires targets
--next 2 --method nonsense | unknown pooling method 'nonsense'
--method rrf | --method requires --next or --budget
--budget 3 --method maxmean | --budget requires --judged
--sample stat | design 'stat' requires --size ...
--sample stat --size 10% | 1,000,000,000 with the design 'stat', got the proportion 0.1
--sample bad --size 1 | unknown sampling design 'bad'; expected one of: uniform
--sample uniform --size x | --size must be an integer
--sample uniform --size 0 | size must be a positive integer, or a p
--sample uniform --size 0.5 | --size must be an integer or a percentage
--sample uniform --size 101% | size must be a positive integer, or a p
--sample strata --strata 5 | setting strata must be pairs
--sample strata --strata 5:1,5:2 | each rank once
--sample strata --strata 1:1 | expected strata down to rank
--sample stat --size 2 --judged few.txt | judgments of all sampled documents
--sample stat --size 2 --judged qrels.txt --format xqrels | has no column 'stratum'
--size 2 | --size requires --sample
--missing nonrelevant | --missing requires --sample and --judged
--next 2 --format latex | --format of documents to judge must be
--format trec | --format of this report must be
--format prels | --format of this report must be
--sample stat --size 2 --judged qrels.txt --format tsv | prels, text, xqrels, got tsv
--next 2 --table topics | --table applies to reports, not to documents
--table systems | unknown table 'systems'
--arranged id | --arranged requires --next or --budget or --unjudged or --sample
--next 2 --assessors a,a | distinct names
--next 2 --assessors 2 --overlap 2 | overlap must be a
--judged nowhere.txt | nowhere.txt
"""
)
def test_what_does_not_go_together(campaign: Path, words: list[str], reason: str) -> None:
    (campaign / "few.txt").write_text("q0 0 d0 1\n")
    refused(campaign, "pool", "s?.run", *words, "-o", "out.txt", reason=reason)


@pytest.mark.parametrize("output", ["judgments.txt", "./s0.run", "s{}.run"])
def test_no_input_is_written_over(campaign: Path, output: str) -> None:
    (campaign / "judgments.txt").write_text("q0 0 d0 1\n")
    kept = {path: path.read_bytes() for path in campaign.iterdir()}
    asked = ["--judged", "judgments.txt", "--next", "2", "--assessors", "0x,1"]
    if output != "s{}.run":
        asked = asked[:-2]
    _, err = cranfield(campaign, "pool", "s?.run", *asked, "-o", output, status=2)
    assert "would overwrite an input file" in err
    assert {path: path.read_bytes() for path in campaign.iterdir()} == kept


def test_what_a_method_makes_of_judgments_is_said(tmp_path: Path) -> None:
    rankings = {"a.run": "xyz", "b.run": "zwx"}
    for name, docs in rankings.items():
        lines = [f"1 Q0 {doc} 1 {9 - k} {name}\n" for k, doc in enumerate(docs)]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "q.txt").write_text("1 0 w 1\n1 0 x -1\n1 0 beyond 1\n")
    common = ("pool", "*.run", "--judged", "q.txt", "--method", "MaxMean")
    _, err = cranfield(tmp_path, *common, "--next", "1")
    assert "ignored: 1 judgment outside the pool" in err
    assert "ignored: 1 judgment of documents that the method has not reached" in err
    assert "counted as not relevant: 1 judgment with a grade below 0" in err
    _, err = cranfield(tmp_path, *common, "--budget", "2")
    assert "MaxMean treats 2 unjudged documents of the pool as not relevant" in err
    _, err = cranfield(tmp_path, *common[:-1], "depth", "--budget", "2")
    assert "warning" not in err


def test_the_number_of_sampled_documents_without_a_judgment_is_reported(campaign: Path) -> None:
    pool = cf.assess.pool(campaign.glob("s?.run"), 100)
    drawn = cf.assess.sample(pool, "uniform", size=3)
    rows = drawn.to_polars().select("topic", "doc").rows()
    (campaign / "few.txt").write_text("".join(f"{t} 0 {d} 1\n" for t, d in rows[2:]))
    args = ("pool", "s?.run", "--sample", "uniform", "--size", "3", "--missing", "nonrelevant")
    _, err = cranfield(campaign, *args, "--judged", "few.txt")
    assert f"2 of {len(rows)} sampled documents are not judged and count as not relevant" in err
    (campaign / "all.txt").write_text("".join(f"{t} 0 {d} 1\n" for t, d in rows))
    _, err = cranfield(campaign, *args, "--judged", "all.txt")
    assert "warning" not in err
