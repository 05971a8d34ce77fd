"""Commands with any of their options, and valid or hostile values, end in status 0, 1 or 2.

An error ends with one printable line and leaves no new file, except parts of a study with --resume
and files of the campaign, which stays valid.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield as cf
from tests.cli.campaign.test_every_option import write_campaign
from tests.cli.running import commands, ended_with
from tests.cli.test_every_command_option import BASES, uses, world

OF_CAMPAIGNS = """
init other --rules rules|pack rules|team add news new|team list news|team change news us
run submit news new.run --team us --priority 1|run replace news bm25 new.run|run list news
run withdraw news bm25 --reason x|run purge news bm25 --reason x|run show news bm25|pool news
score news|judgments news second.txt --version 3|standing news new.run --no-pooling
history news -m AP|release sheets news -o out|release overview news -o out
release packet news --team us -o out|release make news|release site news -o out
release retract news adhoc-1 --reason x|verify news|export news -o out
"""
LINES = [f"campaign {line}" for line in OF_CAMPAIGNS.strip().replace("\n", "|").split("|")]
# The demonstrations take seconds with any options.
LINES += [line for command, line in BASES.items() if command != "demo"]
COMMANDS = {name: command for name, command, _ in commands()}
PROCESSES = {"--jobs", "--backend"}
"""Options that start processes; tests/collection/test_workers.py tests them."""

NUMBERS = """
1 2 3 10 0 -1 0.5 0.05 1.5 x nan inf -inf 1e400 1e-400 1_0 0x1 １ +-1 1,5 100% 1e3 5%
99999999999999999999 9223372036854775808
"""
TEXTS = """
- -- [/] a=b a=1,b=2 = , : 1:2 AP P@3 a all holm tukey d01 {} %s <b> $(x) * \\ " ' topic=doc
missing . [ ** a.run q.txt s.csv log.csv bad.run new.run news /dev/null irds:x http://[::1 file://x
no/such/out a.run/out out.csv out.html out.parquet zip://a::b s3:// memory://x
"""
ODD = ["", "\x1b[2J", "a\nb", "é", "\u202e", "\x85", "\u2028", "x" * 300, "x" * 3000]
VALUES = [*NUMBERS.split(), *TEXTS.split(), *ODD]


@functools.cache
def files(of_campaign: bool) -> Path:
    folder = Path(tempfile.mkdtemp())
    (write_campaign if of_campaign else world)(folder)
    return folder


@st.composite
def option_words(draw: st.DrawFn, command: str, option: click.Option) -> list[str]:
    name = draw(st.sampled_from([*option.opts, *option.secondary_opts]))
    if option.is_flag or option.count:
        return [name]
    valid = [use.rpartition("::")[2].split() for use in uses(command, max(option.opts, key=len))]
    if isinstance(option.type, click.Choice):
        valid += [[name, str(choice)] for choice in option.type.choices]
    hostile = st.sampled_from(VALUES).map(lambda value: [name, value])
    return draw(st.sampled_from(valid) | hostile if valid else hostile)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("line", LINES)
def test_any_options(line: str, data: st.DataObject, tmp_path: Path) -> None:
    name = max((one for one in COMMANDS if f"{line} ".startswith(f"{one} ")), key=len)
    command = COMMANDS[name]
    options = [one for one in command.params if isinstance(one, click.Option)]
    usable = [one for one in options if PROCESSES.isdisjoint(one.opts)]
    words = line.split()
    for option in data.draw(st.lists(st.sampled_from(usable), max_size=4)) if usable else []:
        words += [word for word in data.draw(option_words(name, option)) if ">" not in word]
    if data.draw(st.integers(0, 9)) == 9:
        place = data.draw(st.integers(name.count(" ") + 1, len(words)))
        words[place : place + 1] = [data.draw(st.sampled_from(VALUES))]
    folder = tmp_path / "work"
    shutil.rmtree(folder, ignore_errors=True)
    # Campaigns change in place.
    copy: Any = shutil.copy2 if line.startswith("campaign") else os.symlink
    shutil.copytree(files(line.startswith("campaign")), folder, copy_function=copy)
    before = {*folder.rglob("*")}
    status, out, messages = ended_with(folder, *words)
    assert status in (0, 1, 2) and "Traceback" not in out + messages, words
    assert all(one.isprintable() and len(one) < 800 for one in messages.split("\n")), messages
    if status == 2:
        assert messages.splitlines()[-1].startswith("cranfield: error: ")
        # A campaign keeps scores that were computed, and a study its parts.
        more = {*folder.rglob("*")} - before - {*folder.glob("news/**/*")}
        assert "--resume" in words or not more
    if (folder / "news").is_dir():
        assert cf.campaign.open(folder / "news").verify().is_intact
