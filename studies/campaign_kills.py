"""Is a campaign sound after processes that worked on it were killed again and again?

    python -m studies.campaign_kills FOLDER [--kills N] [--seed N]

FOLDER is made, and must not be there. Two processes hand in 500 small runs each to one campaign:
the same tags, by other teams, more than the teams may hand in; then better versions of those that
were accepted. Between runs they score, and release a task. Both are killed by SIGKILL at random
moments, and started again where the last acknowledgement was. After each kill the campaign is
verified; what a kill left over is removed every tenth time. In the end SQLite itself, without
cranfield, is asked whether each acknowledged run is there with its SHA-256, whether a tag is there
twice, and whether a team has more runs than it may.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sqlite3
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path

from cranfield import campaign
from cranfield.base.errors import CranfieldError
from cranfield.base.streams import stream
from cranfield.campaign.store.whole_folder import REPAIRED

RUNS, TEAMS, LIMIT = 500, 20, 22
MEAN = 0.5
SCORE_EVERY, RELEASE_EVERY = 6, 12

RULES = f"""\
[campaign]
id = "killed"
title = "A campaign that is killed"
[tasks.adhoc]
runs_per_team = {LIMIT}
missing_topics = "allow"
measures = ["AP", "P@2"]
[tasks.small]
missing_topics = "allow"
measures = ["AP", "P@2"]
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=11)
    given = options.parse_args()
    sys.exit(killed(given.folder, given.kills, given.seed))


def run_of(child: int, number: int) -> tuple[str, str, bytes]:
    """Tag, team and bytes of a run: the same tags for both, other teams and other documents."""
    tag, team = f"run{number % RUNS:03}", f"team{(number + 7 * child) % TEAMS:02}"
    docs = (f"d{child}{number}", "a", f"e{number}", "b")
    lines = (
        f"{topic} Q0 {doc} {k} {9 - k} {tag}\n" for topic in (1, 2) for k, doc in enumerate(docs)
    )
    return tag, team, "".join(lines).encode()


def work(folder: Path, child: int, start: int) -> None:
    """Hand in runs, score and release, and acknowledge each step when it is done."""
    opened = campaign.open(folder / "campaign", actor=f"child {child}")
    source = folder / f"child{child}.run"
    opened.check(folder / "small.run", "small")
    say("ready")
    for number in count(start):
        tag, team, data = run_of(child, number)
        source.write_bytes(data)
        say(f"begin submit {tag}")
        try:
            got = opened.submit(
                source, "adhoc", team=team, replaces=tag if number >= RUNS else None
            )
            sha256 = hashlib.sha256(data).hexdigest()
            say(f"done submit {tag} {number} {got.submission.state} {sha256}")
        except CranfieldError as error:
            say(f"refused submit {error}")
        after(opened, child, number)


def after(opened: campaign.Campaign, child: int, number: int) -> None:
    """Score and release now and then; two releases at once are refused in one line."""
    if number % SCORE_EVERY == child:
        say("begin score")
        opened.score("adhoc" if number % RELEASE_EVERY == child else "small")
        say("done score")
    if number % RELEASE_EVERY == child:
        say("begin release")
        try:
            opened.release("small")
            say("done release")
        except CranfieldError as error:
            say(f"refused release {error}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def prepared(folder: Path) -> None:
    """Make the campaign: teams, judgments, and three runs of the task that is released."""
    folder.mkdir()
    rules = folder / "campaign.toml"
    rules.write_text(RULES)
    opened = campaign.create(folder / "campaign", rules)
    for number in range(TEAMS):
        opened.add_team(f"team{number:02}", f"Team {number}", contact=f"team{number}@example.org")
    qrels = folder / "qrels.txt"
    qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 a 0\n2 0 b 1\n")
    for task in ("adhoc", "small"):
        opened.add_judgments(qrels, task, version="1")
    for number in range(3):
        source = folder / "small.run"
        tag, team, data = run_of(0, number)
        source.write_bytes(data.replace(tag.encode(), f"small{number}".encode()))
        opened.submit(source, "small", team=team)


def load() -> None:
    """Load what the children need, before they are forked."""
    for name in ("checks.checking", "submitting.submit", "results.scoring", "publishing.payload"):
        import_module(f"cranfield.campaign.{name}")


def killed(folder: Path, kills: int, seed: int) -> int:
    """Start, kill, verify, again and again; the number of things that are wrong."""
    place, random = folder / "campaign", stream(seed)
    first = os.fork()
    if first == 0:
        prepared(folder)
        os._exit(0)
    if os.waitpid(first, 0)[1]:
        return 1
    load()
    started = time.perf_counter()
    during: Counter[str] = Counter()
    wrong: list[str] = []
    left, verifying = 0, 0.0
    for number in range(1, kills + 1):
        children = [begin(folder, child) for child in (0, 1)]
        wait(folder, children)
        time.sleep(float(random.exponential(MEAN)))
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            _, status = os.waitpid(child, 0)
            if os.WTERMSIG(status) != signal.SIGKILL:
                wrong.append(f"kill {number}: a child ended by itself with {status}")
        during.update(doing(folder, child) for child in (0, 1))
        clock = time.perf_counter()
        found = campaign.open(place).verify(repair=number % 10 == 0)
        verifying += time.perf_counter() - clock
        left += sum(one.kind == REPAIRED for one in found.findings)
        wrong.extend(f"kill {number}: {one}" for one in found.problems)
        if found.left_over and number % 10 == 0:
            wrong.append(f"kill {number}: not repaired: {found.left_over[0]}")
    ended = finish(folder)
    last = campaign.open(place).verify(repair=True)
    wrong.extend(map(str, (*last.problems, *last.left_over)))
    print(f"{kills} times both killed, in {time.perf_counter() - started:.0f} s ", end="")
    print(f"({verifying:.0f} s of it verifying); killed in the middle of:")
    for what, times in during.most_common():
        print(f"  {what:10} {times:5}")
    left += sum(one.kind == REPAIRED for one in last.findings)
    print(f"the rest of {RUNS} runs each without a kill: {ended:.0f} s")
    print(f"left over, and removed: {left}; at the end {last.heading()[0]}")
    wrong.extend(asked(folder, place))
    print(f"{len(wrong)} things wrong", *wrong[:20], sep="\n  ")
    return len(wrong)


def finish(folder: Path) -> float:
    """Let both hand in what is left of their runs; how long it took."""
    started = time.perf_counter()
    children = [begin(folder, child) for child in (0, 1)]
    while any(handed_in(folder, child) < RUNS for child in (0, 1)):
        time.sleep(0.1)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return time.perf_counter() - started


def handed_in(folder: Path, child: int) -> int:
    """How many runs a child handed in, by its acknowledgements."""
    acknowledged = [line for line in lines(folder, child) if line.startswith("done submit")]
    return int(acknowledged[-1].split()[3]) + 1 if acknowledged else 0


def begin(folder: Path, child: int) -> int:
    """Start a child, as a fork of this process, which has loaded all and has no threads."""
    start = handed_in(folder, child)
    process = os.fork()
    if process == 0:
        try:
            for stream_of, name in ((1, "said"), (2, "errors")):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                os.dup2(os.open(folder / f"{name}{child}", flags, 0o600), stream_of)
            say("start")
            work(folder, child, start)
        finally:
            traceback.print_exc()
            os._exit(1)
    return process


def lines(folder: Path, child: int) -> list[str]:
    path = folder / f"said{child}"
    return path.read_text().splitlines() if path.exists() else []


def wait(folder: Path, children: list[int]) -> None:
    """Wait until both have begun to work."""
    for child in range(len(children)):
        while True:
            said = lines(folder, child)[::-1]
            if "start" in said and "ready" in said[: said.index("start")]:
                break
            time.sleep(0.01)


def doing(folder: Path, child: int) -> str:
    last = lines(folder, child)[-1].split()
    return last[1] if last[0] == "begin" else "between"


def asked(folder: Path, place: Path) -> Iterator[str]:
    """Ask SQLite itself, and the disk."""
    registry = sqlite3.connect(place / "campaign.sqlite")
    entered = "SELECT tag, object FROM submission WHERE state"
    accepted = {*registry.execute(f"{entered} = 'accepted'")}
    there = {*accepted, *registry.execute(f"{entered} = 'replaced'")}
    acknowledged: Counter[str] = Counter()
    for child in (0, 1):
        for line in lines(folder, child):
            if line.startswith("done submit"):
                _, _, tag, _, state, sha256 = line.split()
                acknowledged[state] += 1
                if state != "accepted":
                    continue
                path = place / "objects" / sha256[:2] / sha256
                if (tag, sha256) not in there:
                    yield f"{tag} of child {child} was acknowledged, and is not there"
                elif hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                    yield f"{tag}: its bytes are not those that were handed in"
    runs = "FROM submission WHERE state = 'accepted' AND task = 'adhoc' GROUP BY 1"
    twice = registry.execute(f"SELECT lower(tag) {runs} HAVING count(*) > 1")
    yield from (f"{tag} is there twice" for (tag,) in twice)
    counts = dict(registry.execute(f"SELECT team, count(*) {runs}"))
    yield from (f"{team} has {n} runs" for team, n in counts.items() if n > LIMIT)
    releases = [row[0] for row in registry.execute("SELECT path FROM release")]
    on_disk = [path for path in (place / "releases").iterdir() if path.is_dir()]
    if len(on_disk) != len(releases):
        yield f"{len(on_disk)} folders of releases, {len(releases)} registered"
    events = registry.execute("SELECT count(*) FROM event").fetchone()[0]
    print(
        f"acknowledged: {dict(acknowledged)}; registered: {len(accepted)} accepted runs of "
        f"{len(counts)} teams, at most {max(counts.values())} of {LIMIT} a team; "
        f"{len(releases)} releases; {events} events"
    )


if __name__ == "__main__":
    main()
