"""Words that must not leave a campaign are planted where private things stand, and searched for.

A whole campaign is run by commands. Each private thing holds a random word of its own: contacts,
refused, replaced, withdrawn and unreleased runs, judgments that are not released, paths of
machines in metadata, names of folders, the organiser's name and environment, other teams. Each word
must be found in the campaign's own folder or in what was given to commands, or the search would
prove nothing; words that are public must be found outside. All else must be found nowhere.

    python -m studies.campaign_leaks FOLDER
"""

from __future__ import annotations

import base64
import gzip
import io
import lzma
import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

TOPICS = tuple(str(k) for k in range(1, 13))
RULES = """
[campaign]
id = "leaks-2026"
title = "A campaign with secrets"
consent = "Runs are published; contacts are not."
# A remark of the organisers: {comment}
[tasks.adhoc]
title = "Ad hoc"
topics = "topics.txt"
tag = "[A-Za-z0-9_.-]{{1,40}}"
types = ["automatic", "manual"]
priorities = 3
pool = {{depth = 10, priorities = [1]}}
measures = ["AP", "nDCG@10"]
categories = ["type"]
min_category = 2
[tasks.adhoc.questions.fields]
ask = "Which fields?"
choices = ["title", "all"]
[tasks.adhoc.questions.remark]
ask = "Anything else?"
[tasks.later]
title = "Later"
topics = "topics-{unreleased_topics}.txt"
tag = "[A-Za-z0-9_.-]{{1,40}}"
measures = ["AP"]
"""
METADATA = """# ir_metadata.start
# tag: {tag}
# actor:
#   team: {team}
#   mail: {mail}@example.org
# method:
#   automatic: true
# implementation:
#   source:
#     archive:
#       path: /home/{path}/archive.zip
#   script:
#     path: /home/{path}/run.py
# ir_metadata.end
"""


@dataclass
class Word:
    """A word that was planted."""

    where: str
    word: str
    public: bool = False
    only: str = ""
    hits: dict[str, list[str]] = field(default_factory=dict)


class Planted:
    """The words, each drawn when it is first asked for."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words: dict[str, Word] = {}

    def __call__(self, where: str, *, public: bool = False, only: str = "") -> str:
        """Draw a word for a place; `only` is the kind of output that must not have it."""
        letters = "".join(self.random.choices("bcdfghjklmnpqrstvwxz", k=14))
        self.words[where] = Word(where, letters, public, only)
        return letters


class Campaign:
    """A campaign by commands, with secrets; what commands say is kept."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.planted = Planted(seed)
        self.random = random.Random(seed + 1)
        self.home = folder / f"organiser-{self.planted('name of the organisers folder')}"
        self.given = self.home / "given"
        self.given.mkdir(parents=True)
        self.folder = self.home / "campaign"
        self.out = folder / "out"
        self.out.mkdir()
        self.said: dict[str, str] = {}
        self.environment = {
            **os.environ,
            "USER": self.planted("name of the organiser"),
            "LOGNAME": self.planted("login of the organiser"),
            "SECRET_TOKEN": self.planted("environment"),
            "PYTHONPATH": str(Path("src").absolute()),
        }

    def command(
        self,
        *arguments: object,
        status: int | None = 0,
        to: str = "organiser",
        folder: Path | None = None,
    ) -> str:
        """Run a command; what it says is kept under who reads it."""
        group = [] if arguments[0] == "check" else ["campaign"]
        line = ["-m", "cranfield", *group, *map(str, arguments)]
        done = subprocess.run(
            [sys.executable, *line],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        said = done.stdout + done.stderr
        if "Traceback" in said or (status is not None and done.returncode != status):
            raise SystemExit(f"{' '.join(line)}: status {done.returncode}\n{said}")
        self.said[to] = f"{self.said.get(to, '')}$ {' '.join(line[2:4])}\n{said}\n"
        return said

    def run(self, tag: str, *, docs: str = "", bad: bool = False, header: str = "") -> Path:
        """Write a run of twenty documents a topic; `docs` is a word in one document of each."""
        lines = []
        for topic in TOPICS:
            found = self.random.sample([f"d{k:03d}" for k in range(60)], 20)
            if docs:
                found[-1] = f"doc-{docs}"
            for rank, doc in enumerate(found):
                score = "wrong" if bad and rank == 3 else f"{20 - rank}"
                lines.append(f"{topic} Q0 {doc} {rank + 1} {score} {tag}")
        path = self.given / f"{tag}.run"
        path.write_text(header + "\n".join(lines) + "\n")
        return path


def whole_life(folder: Path) -> Campaign:
    """Run the campaign, from its rules to its site."""
    made = Campaign(folder)
    put, go, home = made.planted, made.command, made.folder
    # All tasks are in the pack, whether they are released or not.
    later = put("topics of an unreleased task", only="pack")
    rules = RULES.format(comment=put("comment in the rules"), unreleased_topics=later)
    (made.given / "campaign.toml").write_text(rules)
    (made.given / "topics.txt").write_text("".join(f"{one} words\n" for one in TOPICS))
    (made.given / f"topics-{later}.txt").write_text("".join(f"{k} {later}\n" for k in TOPICS))
    go("init", home, "--rules", made.given / "campaign.toml")
    for name in ("topics.txt", f"topics-{later}.txt"):
        if not (home / name).is_file():
            shutil.copy(made.given / name, home / name)

    # Teams: that of the packet, others, one under embargo, one with nothing released.
    own = put("id of a team", public=True)
    other = put("id of another team", public=True, only="packet")
    hidden = put("id of a team under embargo")
    absent = put("id of a team without a released run")
    for team in (own, other, hidden, absent):
        more = ["--anonymous-until", "2030-01-01"] if team == hidden else []
        name = put(f"name of team {team}", public=team in (own, other),
                   only="packet" if team == other else "")  # fmt: skip
        contact = f"{put(f'contact of team {team}')}@example.org"
        go("team", "add", home, team, "--name", name, "--contact", contact, *more)

    def submit(kind: str, team: str, *, public: bool, only: str = "", **look: object) -> str:
        tag = put(f"tag of {kind}", public=public, only=only)
        seen = bool(look.pop("docs_public", public))
        docs = put(f"document of {kind}", public=seen)
        said = put(f"description of {kind}", public=public, only=only)
        remark = put(f"free answer of {kind}", public=public, only=only)
        status = 1 if look.get("bad") else 0
        path = made.run(tag, docs=docs, **look)  # type: ignore[arg-type]
        go("run", "submit", home, path, "--task", "adhoc", "--team", team, "--type", "automatic",
           "--priority", 1, "--answer", "fields=all", "--answer", f"remark={remark}",
           "--description", said, status=status)  # fmt: skip
        return tag

    mail, machine = put("mail in metadata"), put("path of a machine in metadata")
    header = METADATA.format(tag="{tag}", team="x", mail=mail, path=machine)
    for k in range(3):
        tag = put(f"tag of run {k} with metadata", public=True)
        path = made.run(tag, header=header.replace("{tag}", tag))
        go("run", "submit", home, path, "--task", "adhoc", "--team", own, "--type", "automatic",
           "--priority", 1)  # fmt: skip
    for k in range(3):
        submit(f"run {k} of another team", other, public=True, only="packet")
    submit("a run under embargo", hidden, public=False, docs_public=True)
    submit("a refused run", own, public=False, bad=True)
    withdrawn = submit("a withdrawn run", absent, public=False)
    go("run", "withdraw", home, withdrawn, "--reason", put("reason of withdrawing"))
    replaced = submit("a replaced run", own, public=False)
    new = put("tag of the run in its place", public=True)
    said, remark = put("new description", public=True), put("new free answer", public=True)
    # What is not said of the new run is as it was of the old one.
    go("run", "replace", home, replaced, made.run(new), "--description", said,
       "--answer", "fields=all", "--answer", f"remark={remark}")  # fmt: skip
    tag = put("tag of an unreleased task")
    path = made.run(tag, docs=put("document of an unreleased task"))
    go("run", "submit", home, path, "--task", "later", "--team", absent)

    qrels = made.given / "qrels.txt"
    grades = [f"{topic} 0 d{k:03d} {int(made.random.random() < 0.3)}\n"
              for topic in TOPICS for k in range(60)]  # fmt: skip
    qrels.write_text("".join(grades))
    go("judgments", home, qrels, "--task", "adhoc", "--version", "1")
    secret = put("document of unreleased judgments")
    qrels.write_text("".join([*grades, f"1 0 {secret} 1\n"]))
    note = put("note of unreleased judgments")
    go("judgments", home, qrels, "--task", "adhoc", "--version", "2", "--note", note)
    later_qrels = made.given / "later.txt"
    later_qrels.write_text(f"1 0 {put('judgment of an unreleased task')} 1\n")
    go("judgments", home, later_qrels, "--task", "later", "--version", "1")

    # What leaves: a pack, packets, releases, sites.
    go("pack", home, "-o", made.out / "pack")
    go("release", "packet", home, "--team", own, "-o", made.out / "packet.zip", "--task", "adhoc")
    go("release", "make", home, "--task", "adhoc", "--judgments", "1", "--date", "2026-11-20")
    shutil.copytree(home / "releases", made.out / "release")
    others = {put.words[f"tag of run {k} of another team"].word: k for k in range(3)}
    board = pl.read_csv(made.out / "release/adhoc-1/data/leaderboard.csv", infer_schema=False)
    for tag, mean in board.select("tag", "AP").iter_rows():
        if tag in others:
            where = f"mean of run {others[tag]} of another team"
            put.words[where] = Word(where, mean[:10], public=True, only="packet")
    go("release", "site", home, "-o", made.out / "site")
    # What participants read.
    tag = put("tag of a participants check", public=True)
    theirs = made.out.parent / "participant"
    theirs.mkdir()
    for name, bad in (("good.run", False), ("bad.run", True)):
        shutil.move(made.run(tag, bad=bad), theirs / name)
    for name in ("good.run", "bad.run", "no.run"):
        go("check", theirs / name, "--rules", made.out / "pack", "--task", "adhoc", status=None,
           to="participant")  # fmt: skip
    taken = made.planted.words["tag of run 0 of another team"].word
    for path in (made.run(taken), made.run(new)):
        # Messages name a file as the command did.
        more = ["--task", "adhoc", "--type", "automatic", "--priority", "1"]
        go("run", "submit", home.absolute(), path.name, "--team", own, *more, status=1,
           to="participant", folder=path.parent)  # fmt: skip
    return made


def anonymous(made: Campaign) -> None:
    """Make a release without names, and a site of it alone."""
    made.command(
        *("release", "make", made.folder, "--task", "adhoc", "--judgments", "1"),
        *("--anonymous", "--date", "2026-11-20"),
    )
    reason = made.planted("reason of retracting", public=True)
    made.command("release", "retract", made.folder, "adhoc-1", "--reason", reason)
    source = made.folder / "releases"
    shutil.copytree(source / "adhoc-2", made.out / "anonymous release")
    made.command("release", "site", made.folder, "-o", made.out / "anonymous site")


def pieces(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all that is in a file: its bytes, and those of what is packed in it."""
    yield from _pieces(str(path), path.read_bytes())


def _pieces(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, name.encode() + b"\n" + content
    if name.endswith(".xz"):
        yield from _pieces(name[:-3], lzma.decompress(content))
    elif name.endswith(".gz"):
        yield from _pieces(name[:-3], gzip.decompress(content))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield f"{name}: comment", archive.comment
            for one in archive.infolist():
                yield f"{name}:{one.filename}", one.extra + one.comment
                yield from _pieces(f"{name}:{one.filename}", archive.read(one))
    elif name.endswith(".parquet"):
        frame = pl.read_parquet(io.BytesIO(content))
        yield f"{name}: strings", repr(frame.columns).encode() + frame.write_json().encode()


def forms(word: str) -> list[bytes]:
    """Return a word as it may be written: as it is, in hexadecimal, in base64, in UTF-16."""
    raw = word.encode()
    made = [raw, raw.hex().encode(), word.encode("utf-16-le")]
    for shift in range(3):
        # A word inside a longer text: the letters at its ends depend on their neighbours.
        made.append(base64.b64encode(b"x" * shift + raw)[4 if shift else 0 : -4])
    return made


def search(words: Mapping[str, Word], kind: str, contents: Iterator[tuple[str, bytes]]) -> int:
    """Note in which pieces each word is; return the number of bytes that were searched."""
    size = 0
    needles = {where: forms(one.word) for where, one in words.items()}
    for name, content in contents:
        size += len(content)
        lower = content.lower()
        for where, some in needles.items():
            if any(one in content for one in some) or some[0] in lower:
                words[where].hits.setdefault(kind, []).append(name)
    return size


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the pieces of all files of a folder, by names that begin at it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield from _pieces(path.relative_to(folder).as_posix(), path.read_bytes())


OUTSIDE = ("pack", "release", "site", "packet", "anonymous", "messages")
"""What leaves the campaign."""


def allowed(word: Word, kind: str) -> bool:
    """Tell whether a word may be in an output of a kind."""
    if word.only == "pack":
        return kind == "pack"
    if kind == "anonymous" and word.where.startswith("mean of"):
        return True
    if kind == "anonymous":
        # Only documents of runs, and what the organisers wrote.
        return word.where.startswith(("document of run", "document of a run", "reason of retract"))
    if kind == "packet" and word.only == "packet":
        return False
    if kind == "packet" and word.where.startswith("document of"):
        return False
    return word.public or (kind == "release" and word.where == "document of a run under embargo")


def table(words: Sequence[Word]) -> tuple[str, int]:
    """Write a line a word, with the number of hits in each kind of output; count the leaks."""
    lines = [f"{'planted in':<42}{'inside':>7}" + "".join(f"{one:>11}" for one in OUTSIDE)]
    leaks = 0
    for word in words:
        cells = ""
        for kind in OUTSIDE:
            found = len(word.hits.get(kind, ()))
            leak = found and not allowed(word, kind)
            leaks += bool(leak)
            cells += f"{f'{found} LEAK' if leak else found:>11}"
        lines.append(f"{word.where[:41]:<42}{len(word.hits.get('inside', ())):>7}{cells}")
    return "\n".join(lines), leaks


def main() -> None:
    """Run the campaign in a folder, search, and say what was found."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    made = whole_life(folder)
    anonymous(made)
    words = made.planted.words
    out = made.out
    size = 0
    for kind in ("pack", "release", "site"):
        size += search(words, kind, files(out / kind))
    size += search(words, "packet", pieces(out / "packet.zip"))
    for name in ("anonymous release", "anonymous site"):
        size += search(words, "anonymous", files(out / name))
    said = made.said["participant"].encode()
    size += search(words, "messages", iter([("messages", said)]))
    inside = [*files(made.home), *files(folder / "participant")]
    around = "\n".join([str(made.home), *made.environment.values()]).encode()
    search(words, "inside", iter([*inside, ("environment", around)]))
    for one in words.values():
        if one.where.startswith("mean of"):
            # Nothing that was planted: a number that was computed from what was.
            one.hits["inside"] = one.hits.get("release", [])
    (made.out / "messages.txt").write_bytes(said)
    shown, leaks = table([*words.values()])
    print(shown)
    never = [one.where for one in words.values() if not one.hits.get("inside")]
    public = [
        one for one in words.values() if one.public and one.where != "tag of a participants check"
    ]
    unseen = [one.where for one in public if not any(one.hits.get(kind) for kind in OUTSIDE)]
    print(f"{len(words)} words, {size:,} bytes searched; {leaks} leaks")
    print(f"planted, and not found inside: {never or 'none'}")
    print(f"public, and not found outside: {unseen or 'none'}")
    for word in words.values():
        for kind, names in word.hits.items():
            if kind != "inside" and not allowed(word, kind):
                print(f"LEAK of {word.where} in {kind}: {', '.join(names[:4])}")
    sys.exit(1 if leaks or never else 0)


if __name__ == "__main__":
    main()
