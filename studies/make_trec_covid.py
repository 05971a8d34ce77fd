"""Make the bundled collection: TREC-COVID round 5, its judgments and some forty of its runs.

    python -m studies.make_trec_covid FOLDER [-o src/cranfield/data/trec_covid.parquet]

FOLDER holds `runs/*.run.xz` (cut to the top 100), `qrels.covid-round5.txt.gz` and
`leaderboard.csv`, from the public NIST archive as mirrored by castorini/TREC-COVID.

Which runs: the best automatic, feedback and manual ones are all there, because every team gives
its best run by official nDCG@20, and the rest are spread evenly over the other runs of the
leaderboard. Scores are kept as 32-bit floats, which is how trec_eval 9 read them for the official
results; two scores that were different only beyond that are tied.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

import cranfield as cf
from studies.common import run_main

RUNS = 40
LARGEST = 1_500_000
SOURCE = {
    "name": "TREC-COVID round 5",
    "origin": "https://ir.nist.gov/trec-covid/archive/round5.html",
    "mirror": "https://github.com/castorini/TREC-COVID",
    "licence": "public archive of NIST",
    "reference": "Voorhees and others (2021), TREC-COVID: Constructing a Pandemic IR Test"
    " Collection, SIGIR Forum 54(1)",
}


def chosen(leaderboard: pl.DataFrame) -> pl.DataFrame:
    """Choose the best run of each team, then others evenly over the leaderboard."""
    ranked = leaderboard.sort("ndcg@20", "tag", descending=[True, False])
    best = ranked.unique("team", keep="first", maintain_order=True)
    best = best.head(RUNS - 8) if best.height > RUNS - 8 else best
    rest = ranked.filter(~pl.col("tag").is_in(best["tag"].implode()))
    spread = np.linspace(0, rest.height - 1, RUNS - best.height).round().astype(int)
    return pl.concat([best, rest[spread]]).sort("ndcg@20", "tag", descending=[True, False])


def table(folder: Path, leaderboard: pl.DataFrame) -> pl.DataFrame:
    """Judgments (no run) and rankings in one table, in the order that packs best."""
    qrels = cf.read_qrels(folder / "qrels.covid-round5.txt.gz").to_polars()
    parts = [qrels.select(pl.lit(None, pl.String).alias("run"), "topic", "doc", "grade")]
    for tag in leaderboard["tag"]:
        run = cf.read_run(folder / "runs" / f"{tag}.run.xz", name=tag).to_polars()
        parts.append(
            run.select(
                pl.lit(tag).alias("run"), "topic", "doc", pl.col("score").cast(pl.Float32)
            ).sort(
                pl.col("topic").cast(pl.Int32),
                "score",
                "doc",
                descending=[False, True, True],
                maintain_order=True,
            )
        )
    return pl.concat(parts, how="diagonal").with_columns(pl.col("grade").cast(pl.Int8))


def check(path: Path, leaderboard: pl.DataFrame) -> None:
    """Compare P@20 and nDCG@20 of every bundled run with the official means."""
    frame = pl.read_parquet(path)
    qrels = frame.filter(pl.col("run").is_null()).select("topic", "doc", "grade")
    rankings = frame.filter(pl.col("run").is_not_null())
    runs = {
        str(tag): rankings.filter(pl.col("run") == tag).select("topic", "doc", "score")
        for tag in leaderboard["tag"]
    }
    found = cf.evaluate(runs, qrels, ["P@20", "nDCG@20"]).by_system()
    for row in leaderboard.iter_rows(named=True):
        ours = found.row(by_predicate=pl.col("system") == row["tag"], named=True)
        for mine, theirs in (("P@20", "P@20"), ("nDCG@20", "ndcg@20")):
            assert round(ours[mine], 4) == row[theirs], (row["tag"], mine, ours[mine], row[theirs])
    print(f"{leaderboard.height} runs have the official P@20 and nDCG@20 to 4 decimals")


def main(folder: Path, *, output: Path = Path("src/cranfield/data/trec_covid.parquet")) -> None:
    """Make the file, and check it."""
    leaderboard = pl.read_csv(folder / "leaderboard.csv")
    runs = chosen(leaderboard)
    about = {
        **SOURCE,
        "runs": [
            {
                "tag": row["tag"],
                "team": row["team"],
                "type": row["runtype"],
                "nDCG@20": row["ndcg@20"],
                "P@20": row["P@20"],
            }
            for row in runs.iter_rows(named=True)
        ],
    }
    table(folder, runs).write_parquet(
        output,
        compression="zstd",
        compression_level=22,
        statistics=False,
        row_group_size=10**7,
        metadata={"cranfield": json.dumps(about, ensure_ascii=False)},
    )
    size = output.stat().st_size
    types = dict(sorted(runs["runtype"].value_counts().iter_rows()))
    print(f"{size:,} bytes; {runs.height} runs of {runs['team'].n_unique()} teams, {types}")
    assert size < LARGEST, f"more than {LARGEST:,} bytes"
    check(output, runs)


if __name__ == "__main__":
    run_main(main)
