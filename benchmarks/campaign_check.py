"""A run checked against a list of ten million documents: time and memory of whole processes.

    python -m benchmarks.campaign_check [--lines 1000000] [--ids 10000000] [--folder DIR]

Random ids are written one a line, and a run with a thousand documents of a thousand topics, valid
but for one unknown document and one that is there twice, each in a known line. `cranfield check`
has to find the two, and so have a script in Perl and one in Python that do what checkers of
shared tasks do: the list in a hash, the run line by line.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.process import Timing, timed, warm

RULES = """[campaign]
id = "large"
title = "A large collection"
[tasks.adhoc]
topics = "topics.txt"
documents = "documents.txt"
second_column = "Q0"
rank = "order"
"""

PERL = r"""
open(my $list, '<', $ARGV[0]) or die; my %known;
while (<$list>) { chomp; $known{$_} = 1; }
open(my $run, '<', $ARGV[1]) or die; my (%seen, $line);
while (<$run>) {
    my ($topic, $q0, $doc, $rank, $score, $tag) = split ' ', $_, 6; $line++;
    print "$line: unknown $doc\n" unless $known{$doc};
    print "$line: twice $doc\n" if $seen{$topic}{$doc}++;
    print "$line: rank\n" unless $rank =~ /^\d+$/;
}
"""

PYTHON = r"""
import sys
known = {line.rstrip("\n") for line in open(sys.argv[1])}
seen = set()
for line, text in enumerate(open(sys.argv[2]), 1):
    topic, q0, doc, rank, score, tag = text.split()
    if doc not in known:
        print(f"{line}: unknown {doc}")
    if (topic, doc) in seen:
        print(f"{line}: twice {doc}")
    seen.add((topic, doc))
    int(rank), float(score)
"""

LETTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)
UNKNOWN, TWICE = 777, 888


def write(folder: Path, lines: int, ids: int) -> None:
    """Write the rules, the list of documents, and the run."""
    draw = np.random.default_rng(1)
    numbers = np.unique(draw.integers(0, 36**8, ids + ids // 50, dtype=np.int64))
    numbers = draw.permutation(numbers)[:ids]
    text = np.full((numbers.size, 9), ord("\n"), dtype=np.uint8)
    for place in range(8):
        text[:, place] = LETTERS[numbers // 36**place % 36]
    (folder / "documents.txt").write_bytes(text.tobytes())
    (folder / "rules.toml").write_text(RULES)
    topics = range(1, lines // 1000 + 1)
    (folder / "topics.txt").write_text("".join(f"{topic}\n" for topic in topics))
    docs = text[:, :8].copy().view("S8").ravel()
    with (folder / "large.run").open("w") as run:
        for topic in topics:
            chosen = [doc.decode() for doc in docs[draw.choice(ids, 1000, replace=False)]]
            if topic == 1:
                chosen[UNKNOWN], chosen[TWICE] = "unheard-of", chosen[0]
            run.writelines(
                f"{topic} Q0 {doc} {rank} {1000 - rank * 0.7:.4f} bm25\n"
                for rank, doc in enumerate(chosen, 1)
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--ids", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", action="store_true", help="Only write the files.")
    options = parser.parse_args()
    if options.write:
        write(options.folder, options.lines, options.ids)
        return 0
    print(f"{options.lines:,} lines, {options.ids:,} documents")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sizes = ["--lines", str(options.lines), "--ids", str(options.ids)]
        again = [sys.executable, "-m", "benchmarks.campaign_check", "--write", *sizes]
        # In a process of its own: what is measured begins with the memory of its parent.
        subprocess.run([*again, "--folder", str(folder)], check=True)
        measure(folder)
    return 0


def measure(folder: Path) -> None:
    """Run each way once, and print what it took."""
    files = [folder / "documents.txt", folder / "large.run"]
    names = [str(file) for file in files]
    check = ["-m", "cranfield", "check", names[1], "--rules", str(folder)]
    commands = {
        "cranfield check": [sys.executable, *check],
        "a script in Python": [sys.executable, "-c", PYTHON, *names],
    }
    if (perl := shutil.which("perl")) is not None:
        commands["a script in Perl"] = [perl, "-e", PERL, *names]
    warm(files)
    for name, command in commands.items():
        # A run with faults ends in status 1, which is no failure here.
        shell = ["sh", "-c", f"{shlex.join(command)} || true"]
        took = timed(shell, folder / "out.txt", folder / "err.txt")
        said = (folder / "out.txt").read_text()
        numbers = {int(line) for line in re.findall(r"^(?:.*:)?(\d+): ", said, re.MULTILINE)}
        right = "" if numbers == {UNKNOWN + 1, TWICE + 1} else ", NOT THE FAULTS THAT ARE THERE"
        shown = str(took)
        if isinstance(took, Timing):
            shown = f"{took.wall:.1f} s, {took.cpu:.1f} s of processors, {took.peak:,.0f} MiB"
        print(f"{name}: {shown}{right}")


if __name__ == "__main__":
    sys.exit(main())
