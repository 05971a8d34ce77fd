"""A campaign that has been through its life: what it offers, and what that returns.

Files and folders are not copied with the object that names them. Here each copy has its own, so
that no case changes what the next one finds.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cranfield import campaign
from studies.attack.campaigns import QRELS, finished, run_text


class OwnFolder(campaign.Campaign):
    """A campaign whose copies have copies of its folder."""

    def __deepcopy__(self, memo: Any) -> OwnFolder:
        folder = Path(tempfile.mkdtemp()) / "campaign"
        shutil.copytree(self.folder, folder)
        return OwnFolder(folder)


@cache
def whole() -> OwnFolder:
    return OwnFolder(finished(Path(tempfile.mkdtemp())))


def objects() -> Iterator[Any]:
    """Yield the campaign, and what it is made of."""
    one = whole()
    wrong = campaign.Finding("a file", "is gone")
    yield from (one, one.rules, one.rules.task("adhoc"), one.verify(), wrong)
    yield from (*one.teams(), *one.submissions(), *one.registry.events())
    out = Path(tempfile.mkdtemp())
    for path in one.sheets(None, out / "sheets"):
        if path.suffix == ".json":
            yield campaign.Sheet.from_json(path.read_text())
            return


def calls() -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return a call of each method; what they write goes to the folder that one works in."""
    one, files = whole(), Path(tempfile.mkdtemp())
    (files / "new.run").write_text(run_text(random.Random(1), "new"))
    (files / "qrels").write_text(QRELS)
    (files / "table.csv").write_text(f"tag,team,type\n{files / 'new.run'},lab,manual\n")
    run, qrels, table = (str(files / name) for name in ("new.run", "qrels", "table.csv"))
    given: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "add_team": (("new", "The new ones"), {}),
        "change_team": (("lab",), {"name": "Another"}),
        "check": ((run,), {}),
        "submit": ((run,), {"team": "lab", "type": "automatic"}),
        "submit_archive": ((table, [run]), {}),
        "withdraw": (("bm25", "a mistake"), {}),
        "purge": (("gone", "a mistake"), {}),
        "add_judgments": ((qrels,), {"version": "2"}),
        "sheets": ((None, "sheets"), {}),
        "overview": ((None, "overview"), {}),
        "packet": (("lab", "lab.zip"), {}),
        "packets": (("packets",), {}),
        "standing": ((run,), {}),
        "retract": (("adhoc-1", "a mistake"), {}),
        "site": (("site",), {}),
        "export": (("export.zip",), {}),
    }
    plain = ("teams", "submissions", "pool", "score", "release", "verify")
    given |= dict.fromkeys(plain, ((), {}))
    return {f"Campaign.{name}": ((one, *args), named) for name, (args, named) in given.items()}
