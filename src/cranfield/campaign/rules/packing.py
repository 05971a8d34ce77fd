"""What participants need to check their runs themselves: one folder, with nothing private."""

from __future__ import annotations

import shutil
from os import PathLike, fspath
from pathlib import Path

from cranfield.base.errors import InputError, quoted
from cranfield.base.escape import markdown
from cranfield.base.whole_files import whole_file, whole_folder
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.checking import check_rules
from cranfield.campaign.rules.keys import FILES
from cranfield.campaign.rules.reading import read_rules, rules_sha256
from cranfield.campaign.rules.task_rules import Rules, TaskRules
from cranfield.campaign.rules.times import shown
from cranfield.campaign.rules.writing import rules_text

RULES = "rules.toml"
README = "README.md"


def pack(opened: Opened, folder: str | PathLike[str]) -> Path:
    """Write a folder with the rules, and the lists of topics and documents that they name.

    Whoever has it checks a run as the organisers will; what they alone know is whether a tag is
    taken, how many runs a team has, and what time it is. Judgments, contacts and runs are not in
    it, nor the keys of rules that are private. It is made whole or not at all.

    Parameters
    ----------
    opened
        The campaign.
    folder
        The folder to make; an empty one may be there.

    Raises
    ------
    PolicyError
        If there is something of that name.
    InputError
        If a list cannot be read, or the folder cannot be made.
    """
    rules = opened.rules
    check_rules(rules)
    with whole_folder(folder) as building:
        for name in sorted(
            {name for task in rules.tasks.values() for name in _files(task, opened)}
        ):
            if name.casefold() in (RULES, README.casefold()):
                raise InputError(
                    f"{quoted(name)} is a name that the pack has a file of its own for",
                    source=rules.source,
                )
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(opened.folder / name, target)
        _write(building / RULES, rules_text(rules, opened.folder))
        packed = read_rules(building / RULES)
        _write(building / README, _readme(rules, packed))
    return Path(fspath(folder))


def _files(task: TaskRules, opened: Opened) -> list[str]:
    paths = [getattr(task, field) for field in FILES]
    return [path.relative_to(opened.folder).as_posix() for path in paths if isinstance(path, Path)]


def _write(path: Path, text: str) -> None:
    with whole_file(path) as out:
        out.write(text.encode())


def _readme(rules: Rules, packed: Rules) -> str:
    several = len(rules.tasks) > 1
    lines = [
        f"# {markdown(rules.title)}",
        "",
        *([rules.description, ""] if rules.description else []),
    ]
    lines += ["Check your runs before you hand them in:", "", "```console"]
    for name in rules.tasks:
        chosen = f" --task {name}" if several else ""
        lines.append(f"$ cranfield campaign check YOUR.run --rules .{chosen}")
    lines += [
        "```",
        "",
        "It says all that is wrong, with the lines, as the organisers' check will.",
    ]
    lines += ["Only they know whether a tag is taken, and how many runs you have handed in.", ""]
    for task in rules.tasks.values():
        times = [("opens", task.opens), ("closes", task.closes)]
        said = [f"{word} at {shown(time)}" for word, time in times if time is not None]
        if said:
            lines += [f"- `{task.name}` {', '.join(said)}"]
    lines += [*([""] if lines[-1] else []), *([rules.consent, ""] if rules.consent else [])]
    lines += ["| file | SHA-256 |", "|---|---|"]
    lines += [f"| {markdown(name)} | `{digest}` |" for name, digest in sorted(packed.files.items())]
    lines += ["", f"All of it together: `{rules_sha256(packed)}`."]
    return "".join(f"{line}\n" for line in lines)
