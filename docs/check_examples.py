"""Run the examples of the documentation and compare what they print with what the pages show.

    python docs/check_examples.py [--update] [PAGE...]

Python sessions (`pycon`) go through doctest. Commands (`console`) go through the shell; a call of
`cranfield` at the start goes through its main function, which saves starting Python again. Each page
runs from top to bottom in a fresh copy of `docs/examples`. The exit status is 1 when anything
differs. With `--update` the pages get the new output, to be reviewed with `git diff`.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"(?m)^( *)```(pycon|console)[^\n]*\n(.*?)^\1```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks that can be run."""
    for found in FENCE.finditer(page):
        text = "".join(line.removeprefix(found[1]) for line in found[3].splitlines(keepends=True))
        yield Block(found[2], text, page.count("\n", 0, found.start()) + 2)


class Recorder(doctest.DocTestRunner):
    """Runs a session and records the output of examples that print something else."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS)
        self.differences: list[tuple[str, str]] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: Any, got: str) -> None:
        """Record the example as it is written, with its expected and its new output."""
        super().report_failure(out, test, example, got)
        indent = " " * example.indent
        blank = got.replace("\n\n", "\n<BLANKLINE>\n")
        self.differences.append((example.want, textwrap.indent(blank, indent)))


Differences = list[tuple[str, str]]
"""The expected and the new output of each example that prints something else."""


def check_session(block: Block, name: str, names: dict[str, Any]) -> tuple[Differences, int]:
    """Run a Python session; names live on to the page's next session."""
    test = doctest.DocTestParser().get_doctest(block.text, names, name, name, block.line - 1)
    runner = Recorder()
    result = runner.run(test, clear_globs=False)
    names.update(test.globs)
    # An example that raises has no new output.
    raised = result.failed - len(runner.differences)
    return [*runner.differences, *[("", "")] * raised], result.attempted


def check_commands(block: Block, name: str) -> tuple[Differences, int]:
    """Run commands; what they print on either stream comes below them."""
    differences: Differences = []
    attempted = 0
    parts = re.split(r"(?m)^\$ ", block.text)
    for part in parts[1:]:
        lines = part.splitlines(keepends=True)
        length = 1
        while lines[length - 1].endswith("\\\n"):
            length += 1
        command, want = "".join(lines[:length]), "".join(lines[length:])
        if re.search(r"\b(QRELS|RUN|FILE)\b", command) or "pip install" in command:
            # Words in capitals stand for the reader's own files.
            continue
        got = output_of(command)
        attempted += 1
        if not doctest.OutputChecker().check_output(want, got, FLAGS):
            differences.append((want, got))
            print(f"{name}, near line {block.line}:\n$ {command}\nexpected:\n{want}\ngot:\n{got}")
    return differences, attempted


def output_of(command: str) -> str:
    """Run a command; what it prints on either stream."""
    call = re.fullmatch(r"(cranfield [^|;&<>$]*)([|;>].*)?", command, re.DOTALL)
    out, err, status = "", "", 0
    if call:
        words = shlex.split(call[1].replace("\\\n", " "))
        out, err, status = output_of_main(words, together=not call[2] or call[2][0] == ";")
        if not call[2]:
            return out
        command = f"(cat; exit {status}) {call[2]}"
    programs = Path(sys.executable).parent
    done = subprocess.run(
        command,
        shell=True,
        executable="/bin/bash",
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"},
        input=out.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return err + done.stdout.decode()


def output_of_main(words: list[str], *, together: bool) -> tuple[str, str, int]:
    """Call the program's main function, with patterns of file names replaced as a shell does.

    Return its output, its messages, which are part of the output if `together`, and its status.
    """
    from cranfield.cli.main import main as program

    arguments = [
        name
        for word in words
        for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    out = io.StringIO()
    err = out if together else io.StringIO()
    status = 0
    before = sys.argv
    sys.argv = arguments
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            program()
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        sys.argv = before
    return out.getvalue(), "" if together else err.getvalue(), status


def check_page(path: Path, *, update: bool) -> tuple[int, int]:
    """Run one page; return the numbers of examples that differ and of all examples."""
    names: dict[str, Any] = {"__name__": "__main__"}
    failed = attempted = 0
    page = new = path.read_text(encoding="utf-8")
    if len(re.findall(r"^\s*```", page, re.MULTILINE)) % 2:
        # Its examples would not be seen, and so not fail.
        print(f"{path.name}: a fenced block is not closed")
        failed = 1
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
        with contextlib.chdir(folder):
            for block in blocks(page):
                if block.kind == "pycon":
                    differences, count = check_session(block, path.name, names)
                else:
                    differences, count = check_commands(block, path.name)
                failed += len(differences)
                attempted += count
                for want, got in differences:
                    new = new.replace(want, got, 1) if want else new
    if update and new != page:
        path.write_text(new, encoding="utf-8")
    return failed, attempted


def main(arguments: list[str]) -> int:
    """Run the pages given, or all."""
    # What is shown depends on the width of the terminal and on its colours.
    os.environ.update(COLUMNS="100", NO_COLOR="1", PYTHONUTF8="1")
    update = "--update" in arguments
    pages = [Path(name) for name in arguments if name != "--update"]
    failed = attempted = 0
    for path in pages or [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("tasks/*.md"))]:
        counts = check_page(path.resolve(), update=update)
        failed += counts[0]
        attempted += counts[1]
    print(f"documentation: {attempted} examples, {failed} failed")
    return 1 if failed or not attempted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
