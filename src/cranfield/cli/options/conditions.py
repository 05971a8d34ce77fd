"""What an option goes with: without that it would have no effect, and is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import click

from cranfield.base.errors import PolicyError, warn


def check_conditions(ctx: click.Context) -> None:
    """Refuse an option that was given without anything that it `goes_with`.

    What it goes with are ways, of which one is enough: `"--sample --judged"` where both are given,
    `"--format=latex,html"` where one of these is the value, `"!--judged"` where that is not given.
    """
    named: dict[str, click.Parameter] = {}
    for one in ctx.command.params:
        named |= dict.fromkeys([*one.opts, one.human_readable_name.strip("[].")], one)
    for one in ctx.command.params:
        # Options are shared by commands that have not all of what they may go with.
        ways = [
            way
            for way in getattr(one, "goes_with", ())
            if all(part.removeprefix("!").partition("=")[0] in named for part in way.split())
        ]
        if not ways or not on_command_line(one.name or "", ctx):
            continue
        if not any(all(_holds(part, named, ctx) for part in way.split()) for way in ways):
            option = max(one.opts, key=len)
            for way in ways:
                wanted = [part for part in way.split() if part[0] != "!"]
                if all(_holds(part, named, ctx) for part in wanted):
                    raise PolicyError(f"{option} does not go with {_without(way)}")
            raise PolicyError(f"{option} goes with {' or '.join(map(_said, ways))}")


def _holds(part: str, named: Mapping[str, click.Parameter], ctx: click.Context) -> bool:
    option, _, values = part.removeprefix("!").partition("=")
    name = named[option].name or ""
    value = ctx.params[name]
    given = on_command_line(name, ctx) and value not in (None, (), False)
    there = str(value) in values.split(",") if values else given
    return there != part.startswith("!")


def _said(way: str) -> str:
    wanted = [part for part in way.split() if part[0] != "!"]
    said = " and ".join(part.replace("=", " ").replace(",", ", ") for part in wanted)
    return said + (f" without {_without(way)}" if _without(way) else "")


def _without(way: str) -> str:
    return " and ".join(part[1:] for part in way.split() if part[0] == "!")


def going_with(goes_with: Sequence[str], names: Collection[str]) -> Callable[[Any], Any]:
    """Make a decorator that says what options that commands share go with in one of them."""

    def add(command: Any) -> Any:
        for one in command.__click_params__:
            if one.name in names:
                one.goes_with = tuple(goes_with)
        return command

    return add


def tell_without_effect(names: Iterable[str], why: str) -> None:
    """Warn of options that were given, where only the result tells that they changed nothing."""
    for one in click.get_current_context().command.params:
        if one.name in {*names} and on_command_line(one.name):
            warn(f"{max(one.opts, key=len)} has no effect: {why}")


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that were given, where only what was read tells that they have no effect."""
    for one in click.get_current_context().command.params:
        if one.name in {*names} and on_command_line(one.name):
            raise PolicyError(f"{max(one.opts, key=len)} {why}")


def on_command_line(name: str, ctx: click.Context | None = None) -> bool:
    source = (ctx or click.get_current_context()).get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
