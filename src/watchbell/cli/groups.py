"""Command groups whose commands are imported only when they are used."""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows in which module each of its commands is, as `package.module:name`."""

    def __init__(self, *args: Any, places: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._places:
            return None
        module, _, name = self._places[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._places and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self._places, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)
