"""Every option of the commands of campaigns is used, or refused where it would have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.results.made import handed_in, judged, lines, made, qrels, rankings
from tests.cli.running import cranfield, ended_with, in_settings, refusals, refused

SHARED = {"--help", "--help-all", "--output", "--format", "--task"}
"""Options of many commands, which tests of their own look at."""

USED: dict[str, str] = {
    "init --rules": "init other --rules rules",
    "check --tag": "check new.run --rules news --tag nowhere",
    "check --team": "check new.run --rules news --team new",
    "check --all": "check long.run --rules news --all",
    "run submit --description": "run submit news new.run --team us --priority 1 --description x",
    "run list --team": "run list news --team them",
    "run list --state": "run list news --state refused",
    "run show --contacts": "run show news bm25 --contacts",
    "pool --depth": "pool news --depth 1",
    "pool --without": "pool news --without bm25",
    "pool --mark": "pool news --mark",
    "pool --unjudged": "pool news --unjudged",
    "score --measure": "score news --measure P@5",
    "score --judgments": "score news --judgments 1",
    "standing --measure": "standing news new.run --no-pooling --measure P@5",
    "standing --baseline": "standing news new.run --no-pooling --baseline bm25",
    "standing --type": "standing news new.run --no-pooling --type manual",
    "standing --judgments": "standing news new.run --no-pooling --judgments 1",
    "history --all": "history news -m AP --all",
    "history --standardised": "history news -m AP --standardised --all",
    "history --column": "history board.csv -m AP --column entry=team",
    "history --own": "history board.csv -m AP --own z",
    "history --lower-is-better": "history board.csv -m AP --lower-is-better",
    "judgments --note": "judgments news second.txt --version 3 --drop-judgments --note x",
}
"""Commands whose output, or what they leave behind, is another one with the option."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_campaign(tmp_path)
    return tmp_path


def write_campaign(folder: Path) -> None:
    """Write the campaign `news`, its rules, and files that commands add to it."""
    campaign = made(folder / "news")
    judged(campaign, qrels())
    again = {topic: dict.fromkeys(docs, 1) for topic, docs in rankings(1).items()}
    judged(campaign, again, "2")
    campaign.add_team("them")
    for k, tag in enumerate(("bm25", "dense", "hybrid")):
        handed_in(campaign, tag, rankings(k), type="manual" if k == 2 else "automatic")
    campaign.change_team("us", contact="us@example.org")
    (folder / "new.run").write_bytes(lines("new", rankings(9)))
    (folder / "long.run").write_text("q1 Q0 d 1 x long\n" * 40)
    (folder / "second.txt").write_text("q1 0 d003 1\nq2 0 d003 1\nq3 0 d003 1\nq4 0 d003 1\n")
    (folder / "board.csv").write_text(
        "date,tag,team,mark,AP\n2026-01-01,a,t,own,.1\n2026-01-02,b,u,z,.3\n2026-01-03,c,v,,.2\n"
    )
    (folder / "full.csv").write_text(
        "tag,team,task,type,priority,received\nnew,us,adhoc,manual,1,2020-01-01T00:00:00Z\n"
    )
    (folder / "news-rules").rename(folder / "rules")


def printed(folder: Path, command: str) -> str:
    words = command.split()
    group = [] if words[0] == "check" else ["campaign"]
    status, out, err = ended_with(folder, *in_settings(folder, [*group, *words]))
    assert status in (0, 1), err
    return out + err


@pytest.mark.parametrize("name", USED)
def test_an_option_is_used(folder: Path, name: str) -> None:
    words = USED[name].split()
    option = name.rsplit(maxsplit=1)[-1]
    at = words.index(option)
    flag = at + 1 == len(words) or words[at + 1].startswith("--")
    before = [*words[:at], *words[at + 1 + (not flag) :]]
    campaign = folder / "news/campaign.sqlite"
    kept = campaign.read_bytes()
    without = printed(folder, " ".join(before)), campaign.read_bytes()
    campaign.write_bytes(kept)
    if name.startswith("init"):
        (folder / "other").rename(folder / "first")
    found = printed(folder, " ".join(words)), campaign.read_bytes()
    assert found != without


@refusals(
    """
run submit news new.run --team us --column tag=x | --from
run submit news new.run long.run --team us --tag x | single run
run submit news . --from full.csv --team us | 'team' must not be set
run submit news . --from full.csv --type manual | 'type' must not be
run submit news . --from full.csv --priority 2 | 'priority' must not
run submit news . --from full.csv --task adhoc | 'task' must not be
run submit news . --from full.csv --received 2026-01-01T00:00:00Z | 'received' must not be set
run purge news bm25 --reason x --id 99 | no run 'bm25' has the id 99; expected one of:
run list news --team nobody | nobody
run list news --task nothing | nothing
pool news --judgments 1 | --unjudged
pool news --seed 3 | seed requires setting arranged shuffled or --assessors
pool news --format tsv | --output
pool news --without nobody | nobody
judgments news --version 2 | QRELS
judgments news --note x | QRELS
judgments news second.txt --version 4 --format csv | combined with QRELS
standing news new.run --type manaul | 'manaul'
score news --alpha 2 | alpha
history board.csv -m AP --task adhoc | task requires campaigns
history news -m AP --column entry=x | tables
history news -m AP --own x | tables with a column 'mark'
release packet news --team us --all -o p | --all
"""
)
def test_an_option_without_effect_is_refused(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, "campaign", *words, reason=reason)


def test_files_without_a_row_are_reported(folder: Path) -> None:
    _, err = cranfield(
        *(folder, "campaign", "run", "submit", "news", "new.run", "long.run", "--from", "full.csv"),
        status=1,
    )
    assert "1 file not submitted for lack of a row in the table: 'long.run'" in err
