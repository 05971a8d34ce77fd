"""Groups of commands that load a command when it is named."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from cranfield.base.words import nearest
from cranfield.cli.options.declaring import Command


class CommandGroup(click.Group):
    """A group that knows where its commands stand, as `module:name`, and loads those asked for.

    A command line has to start at once, and most of what commands need is needed by few of them.
    Help lists them by name, or in the order of `homes`.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        homes: Mapping[str, str] | None = None,
        in_order: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.homes = dict(homes or {})
        self.in_order = in_order

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [*self.homes, *super().list_commands(ctx)]
        return names if self.in_order else sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.homes:
            module, _, name = self.homes[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), name)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # What begins like an option is taken out of the arguments.
        called = args[0]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = nearest(called, self.list_commands(ctx), 1)
            if not near or near[0] in error.message:
                raise
            ctx.fail(f"there is no command '{called}'; did you mean {near[0]}?")
