"""What shells complete: asked as they ask, by the words so far."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

from cranfield.cli.main import run

from .running import cranfield

Capture = pytest.CaptureFixture[str]


def completed(capture: Capture, *words: str, shell: str = "bash") -> list[str]:
    """Return what is offered for the last word."""
    line = " ".join(("cranfield", *words))
    place = str(len(words)) if shell != "fish" else words[-1]
    asked = {"COMP_WORDS": line, "COMP_CWORD": place, "_CRANFIELD_COMPLETE": f"{shell}_complete"}
    with (
        mock.patch.dict("os.environ", asked),
        mock.patch("sys.argv", ["cranfield"]),
        # Click takes the name of the program from here if a module is run with `python -m`.
        mock.patch.object(sys.modules["__main__"], "__package__", None),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as ended,
    ):
        run()
    out, err = capture.readouterr()
    assert ended.value.code == 0 and not err
    return out.splitlines()


def test_commands_options_and_names(capsys: Capture) -> None:
    assert completed(capsys, "comp") == ["plain,compare", "plain,completion"]
    assert "plain,--fail-if-worse" in completed(capsys, "compare", "--fail")
    assert {"plain,nDCG", "plain,nDCG@10"} <= {*completed(capsys, "evaluate", "-m", "ndcg")}
    assert completed(capsys, "compare", "-m", "AP,ndcg@1") == [
        "plain,AP,nDCG@10", "plain,AP,nDCG@100", "plain,AP,nDCG@1000"
    ]  # fmt: skip
    assert completed(capsys, "compare", "--test", "rando") == [
        "plain,randomisation",
        "plain,random-topics",
    ]
    assert completed(capsys, "compare", "-c", "hol") == ["plain,holm"]
    assert completed(capsys, "evaluate", "-f", "lat") == ["plain,latex"]
    assert completed(capsys, "evaluate", "q") == ["file,q"]
    assert completed(capsys, "evaluate", "-o", "out") == ["file,out"]
    assert "plain\tevaluate" in completed(capsys, "evalua", shell="fish")[0].replace(",", "\t")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_shells_read(tmp_path: Path, shell: str) -> None:
    # Click asks bash for its version.
    out, _ = cranfield(tmp_path, "completion", shell)
    assert f"_CRANFIELD_COMPLETE={shell}_complete" in out and "cranfield" in out


def test_nothing_that_computes_is_loaded() -> None:
    code = (
        "import os, sys; sys.argv = ['cranfield'];"
        "os.environ.update(COMP_WORDS='cranfield compare -m nDCG', COMP_CWORD='3',"
        " _CRANFIELD_COMPLETE='bash_complete')\n"
        "from cranfield.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "print([one for one in ('numpy', 'polars', 'scipy', 'rich') if one in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
