"""Metadata from strangers: is each read in full, or refused in one line, quickly, in little room?

    python -m studies.hostile_metadata [--headers N] [--seed N]

Headers of runs with bombs of aliases, depth, tags, NUL and other control characters, cut ends, no
end mark, keys without end, bytes that are no text, and YAML put together at random. Each is read as
the header of a run of two lines. Prints for each kind how many were read and refused, the slowest
in seconds of the processor, and how much more memory the process took than before. The exit status
is 1 if one took more than a second, if the process took more than 200 MB more, or if something else
than an InputError came out.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from cranfield import InputError, read_run

RUN = "1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n"
PIECES = [
    *("a: b\n", "- c\n", "  ", "[", "]", "{", "}", "&x ", "*x ", "!!int ", "!t ", "'", '"', "|\n"),
    *(">\n", "? ", ": ", "---\n", "...\n", "%YAML 1.2\n", "\t", "\0", "\x85", "\ufeff", "<<: "),
    *("#", "~", "\r\n", "\U0001f600", "key", ",", "\\", "\x07", "@", "`", "1", "tag: a\n", "\n"),
]


def bomb(draw: random.Random) -> str:
    """Aliases of aliases, as lists or as mappings."""
    width, height = draw.randint(2, 30), draw.randint(2, 60)
    start, end, pair = draw.choice([("[", "]", ""), ("{", "}", "k{}: ")])
    lines = ["l0: &l0 [a, b]"]
    for k in range(1, height):
        inner = ", ".join(pair.format(n) + f"*l{k - 1}" for n in range(width))
        lines.append(f"l{k}: &l{k} {start}{inner}{end}")
    return "\n".join(lines)


def deep(draw: random.Random) -> str:
    """Levels within levels."""
    depth = draw.choice([10, 49, 60, 1000, 100_000])
    opened = draw.choice(["[", "{a: ", "- "])
    return "a: " * (opened != "- ") + opened * depth + draw.choice(["", "x"])


def tagged(draw: random.Random) -> str:
    """Tags of other kinds."""
    tags = ["!!python/object:os.system", "!!python/name:eval", "!x", "!!binary", "!!set", "!!omap"]
    return f"a: {draw.choice([*tags, '!!timestamp', '!!int', '!!bool', '!<tag:x>', '!!'])} b"


def controls(draw: random.Random) -> str:
    """Control characters, surrogates and marks in text."""
    return "a: " + "".join(chr(draw.choice([0, 7, 27, 127, 0x202E, 0xFEFF, 65])) for _ in range(9))


def cut(draw: random.Random) -> str:
    """Something that was good, and ends early."""
    text = "tag: a\nactor: {team: 'x', fields: [a, b]}\nmethod:\n  retrieval:\n    - name: \"b\"\n"
    return text[: draw.randrange(len(text))]


def wide(draw: random.Random) -> str:
    """Long keys, long text, many lines."""
    size = draw.choice([10, 1000, 100_000])
    return draw.choice(
        ["k" * size + ": v", "a: " + "v" * size, "a: |\n" + "  line\n" * (size // 7)]
    )


def pieced(draw: random.Random) -> str:
    """YAML put together at random."""
    return "".join(draw.choices(PIECES, k=draw.randint(1, 60)))


KINDS: tuple[Callable[[random.Random], str], ...] = (
    *(bomb, deep, tagged, controls, cut, wide, pieced, pieced),
)


def header(draw: random.Random, yaml: str) -> bytes:
    """Put YAML into one of the forms of a header; now and then without its end, or no text."""
    prefix = draw.choice(["# ", "#", ""])
    lines = ["ir_metadata.start", *yaml.split("\n"), "ir_metadata.end"]
    if draw.random() < 0.1:
        lines.pop()
    data = "".join(f"{prefix}{line}\n" for line in lines).encode()
    return data.replace(b"a", b"\xff", 3) if draw.random() < 0.02 else data


def read(path: Path) -> str:
    """Read a run and its metadata: `read`, or `refused` in one line."""
    try:
        _ = read_run(path).metadata
    except InputError as error:
        said = str(error)
        return "refused" if said.isprintable() and len(said) < 500 else f"said {said[:80]!r}"
    return "read"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headers", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    warnings.simplefilter("ignore")
    counts: dict[str, dict[str, int]] = {}
    slowest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.run"
        path.write_bytes(header(draw, "tag: a") + RUN.encode())
        read(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(given.headers):
            kind = KINDS[number % len(KINDS)]
            path.write_bytes(header(draw, kind(draw)) + RUN.encode())
            start = time.process_time()
            verdict = read(path)
            took = time.process_time() - start
            name = kind.__name__
            slowest[name] = max(slowest.get(name, 0), took)
            of_kind = counts.setdefault(name, {})
            of_kind[verdict] = of_kind.get(verdict, 0) + 1
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for name, of_kind in counts.items():
        said = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(of_kind.items()))
        print(f"{name:9} {said}; slowest {slowest[name]:.3f} s")
    print(f"{given.headers:,} headers; {more:.0f} MB more than before")
    odd = [one for of_kind in counts.values() for one in of_kind if one not in ("read", "refused")]
    return int(bool(odd) or max(slowest.values()) > 1 or more > 200)


if __name__ == "__main__":
    sys.exit(main())
