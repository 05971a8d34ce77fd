"""What is wrong with an answer, of this version or of another."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from studies.newcomers.cases import Case


def answers(source: Path, step: int = 1) -> list[dict[str, str]]:
    """Run all cases, or each so many, with the sources of a version."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(source), str(root)])
    done = subprocess.run(
        [sys.executable, "-m", "studies.newcomers.running", str(step)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=True,
        cwd=root,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def fault(case: Case, answer: dict[str, str]) -> str:
    """Say what is wrong with an answer; nothing if it is right."""
    if answer["ended"] == "traceback":
        return "traceback"
    if answer["ended"] != ("told" if case.told else "works"):
        return "accepted" if case.told else "refused"
    if not re.search(case.says, answer["printed"]):
        return "other words" if case.told else "another number"
    if answer["advice"] != "works":
        return "advice fails"
    return ""
