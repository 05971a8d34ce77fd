"""Making a campaign's folder: whole, or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

from cranfield.base.errors import PolicyError
from cranfield.base.whole_files import whole_file, whole_folder
from cranfield.campaign.rules.reading import read_rules
from cranfield.campaign.rules.template import template
from cranfield.campaign.store import schema, seal
from cranfield.campaign.store.layout import (
    OBJECTS,
    REGISTRY,
    RELEASES,
    RULES,
    SCORES,
    private_folder,
)
from cranfield.campaign.store.registry import Registry


def create_folder(folder: Path, rules: Path | None = None, actor: str | None = None) -> None:
    """Make a campaign's folder, from a file of rules and the files that it names.

    It is made beside its place under another name, and takes its name when it is whole. Without
    rules there is an example of them, with comments, to be written on.

    Raises
    ------
    PolicyError
        If there is something in the folder, or it is the one that this process works in.
    InputError
        If the rules or a file that they name cannot be read, or the folder cannot be made.
    """
    if folder.resolve() == Path.cwd():
        raise PolicyError("the folder of a campaign is made anew: name one to make, not this one")
    with whole_folder(folder, private=True, synced=True) as building:
        _fill(building, rules, actor)


def _fill(building: Path, rules: Path | None, actor: str | None) -> None:
    if rules is None:
        _keep(building / RULES, template().encode())
    else:
        # Loaded where it is needed: it reads measures and policies.
        from cranfield.campaign.rules.checking import check_rules

        read = read_rules(rules)
        check_rules(read)
        source = rules if rules.is_dir() else rules.parent
        for name in read.files:
            own = RULES if name == read.source else name
            _keep(building / own, (source / name).read_bytes())
    for name in (OBJECTS, SCORES, RELEASES):
        private_folder(building / name)
    schema.create(building / REGISTRY)
    with schema.connected(building) as connection:
        seal.write_seal(building, seal.bytes_sealed(connection))
    files = read_rules(building).files
    # The log begins with what nobody can guess: releases draw the names of hidden teams by it.
    about = {"secret": secrets.token_hex(16)}
    with Registry(building, actor=actor, rules=lambda: files).change("create", details=about):
        pass


def _keep(target: Path, data: bytes) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file(target, private=True, synced=True) as out:
        out.write(data)
