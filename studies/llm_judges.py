"""The labels of LLMJudge 2024 beside the published tables, and whether judges favour their family.

    python -m studies.llm_judges FOLDER [PICTURES]

FOLDER holds `llmjudge_test_qrel_idx.txt` and `submissions/`, from llm4eval/LLMJudge and
llm4eval/LLMJudge-benchmark. Sets with a grade outside the scale are cut, as in the paper. A team is
what stands before the hyphen of a name. The charts of the guide are written to PICTURES.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import cranfield as cf
from studies.common import run_main

PUBLISHED = Path(__file__).parents[1] / "tests" / "data" / "assess" / "llmjudge_published.csv"
CUTS = ("0|123", "01|23", "012|3")
COLUMNS = [f"{name}{cut}" for name in ("kappa", "alpha") for cut in ("", *(f" {c}" for c in CUTS))]


def main(folder: Path, pictures: Path | None = None) -> None:
    people, submissions = folder / "llmjudge_test_qrel_idx.txt", folder / "submissions"
    judges = cf.assess.read_judges(submissions)
    found = cf.assess.compare_judges(people, judges, clip=True)
    print(found)
    paper = pl.read_csv(PUBLISHED)
    mine = found.to_polars().filter(pl.col("judge").is_in(paper["submission"].to_list()))
    both = mine.join(paper, left_on="judge", right_on="submission")
    apart = (both.select(COLUMNS).to_numpy() - both.select(paper.columns[1:]).to_numpy()).round(12)
    size = f"{apart.size} values of {both.height} sets"
    print(f"\n{size}: largest deviation from the published tables {abs(apart).max():.1e}")
    runs = cf.assess.judges_as_runs(people, judges, clip=True)
    teams = {one.name: one.name.split("-")[0] for one in judges}
    for measure in ("nDCG@10", "AP(rel=2)"):
        bias = cf.assess.self_preference(runs, people, judges, teams, measure, clip=True)
        first = int((bias.own_judge_rank == 1).sum())
        print(f"\n{bias}\n\nput their own run first: {first} of {len(judges)}")
    if pictures is not None:
        cf.charts.save(cf.charts.judges_chart(found), pictures / "judges.svg")
        bias = cf.assess.self_preference(runs, people, judges, teams, clip=True)
        cf.charts.save(cf.charts.self_preference_chart(bias), pictures / "self-preference.svg")
    print(f"\n{cf.assess.judge_rankings(runs, people, judges, 'nDCG@10', clip=True)}")


if __name__ == "__main__":
    run_main(main)
