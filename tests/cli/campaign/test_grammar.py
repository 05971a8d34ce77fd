"""Commands of campaigns say the same things in the same way."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cranfield.cli.main import campaign
from tests.cli.running import commands, cranfield

WITHOUT_FOLDER = {"history": "sources"}
"""Commands that name something else first: boards need no folder."""

METAVARS = {
    **{"task": "NAME", "team": "ID", "tag": "TAG", "judgments": "VERSION", "reason": "TEXT"},
    **{"description": "TEXT", "note": "TEXT", "measure": "MEASURE"},
}


COMMANDS = {name: command for name, command, _ in commands(campaign) if name != "demo"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_folder_comes_first_and_options_look_alike(name: str) -> None:
    one = COMMANDS[name]
    first = next(param.name for param in one.params if isinstance(param, click.Argument))
    assert first == WITHOUT_FOLDER.get(name, "folder")
    for option in one.params:
        if not isinstance(option, click.Option):
            continue
        long = next(text[2:] for text in option.opts if text.startswith("--"))
        if long in METAVARS and not isinstance(option.type, click.Choice):
            assert option.make_metavar(click.Context(one)) == METAVARS[long], (name, long)
        if long == "output":
            assert "-o" in option.opts
            assert option.metavar in {"FILE", "FOLDER", "PATH"}
        if long == "format":
            assert "-f" in option.opts
        if long == "measure":
            assert "-m" in option.opts


def test_help_lists_commands_in_the_order_of_a_campaign_and_whole() -> None:
    with click.Context(campaign, info_name="cranfield campaign", terminal_width=80) as context:
        text = campaign.get_help(context)
    listed = text.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == campaign.list_commands(context)
    assert not [line for line in listed if line.endswith("...")]


def test_a_command_of_a_group_is_named_where_it_is_missed(tmp_path: Path) -> None:
    for name, place in (("submit", "run submit"), ("list", "team list or run list")):
        _, err = cranfield(tmp_path, "campaign", name, "news", status=2)
        assert err == f"cranfield: error: unknown command '{name}'; did you mean {place}?\n"
