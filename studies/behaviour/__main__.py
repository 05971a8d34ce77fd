"""The command of the recording."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studies.behaviour.recording import Item

USAGE = (
    "record FOLDER [SUBJECT...] | compare FOLDER_A FOLDER_B [numbers|words]"
    " | digits FOLDER_A FOLDER_B | lost FOLDER_A FOLDER_B | list [SUBJECT...]"
)


def items(subjects: list[str]) -> Iterator[Item]:
    """Yield the items of some subjects, or of all."""
    from studies.behaviour import (
        commands,
        grouping,
        measuring,
        published,
        reading,
        reporting,
        scaling,
        studying,
        testing,
    )

    ranked = (published, commands, reading, measuring, grouping)
    modules = (*ranked, testing, scaling, studying, reporting)
    for module in modules:
        for name, function in module.items():
            if not subjects or any(name.startswith(one) for one in subjects):
                yield name, function


def main(words: list[str]) -> int:
    """Do what the words say; the exit status."""
    # What is shown depends on the width of the terminal, its colours and the clock's place.
    os.environ.update(COLUMNS="100", NO_COLOR="1", PYTHONUTF8="1", TZ="UTC", LC_ALL="C.UTF-8")
    from studies.behaviour import recording

    match words:
        case ["record", folder, *subjects]:
            return 0 if recording.record(Path(folder).absolute(), items(subjects)) else 1
        case ["compare", before, after, *parts]:
            chosen = parts or recording.PARTS
            return (
                1 if sum([recording.compare(Path(before), Path(after), p) for p in chosen]) else 0
            )
        case ["lost", before, after]:
            return 1 if recording.lost(Path(before), Path(after)) else 0
        case ["digits", before, after]:
            recording.digits(Path(before), Path(after))
            return 0
        case ["list", *subjects]:
            for name, _ in items(subjects):
                print(name)
            return 0
    print(f"usage: python -m studies.behaviour {USAGE}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
