"""A group whose commands are the modules of a package, loaded when called."""

from __future__ import annotations

import difflib
import importlib
import pkgutil

import click
from click.shell_completion import CompletionItem

from traceql.errors import UsageError


class LazyGroup(click.Group):
    """Commands found by name among a package's modules.

    Args:
        package: The package; each module of it with a `command` is a command.
        empty: The command that the group alone means; help when None.
        default: The command that takes words which name none.
        help: What the group is for.
    """

    def __init__(
        self,
        package: str,
        *,
        help: str,
        empty: str | None = None,
        default: str | None = None,
    ) -> None:
        super().__init__(name=package.rpartition(".")[2], help=help)
        self.package = package
        self.empty = empty
        self.default = default

    def _modules(self) -> list[str]:
        path = importlib.import_module(self.package).__path__
        return [module.name for module in pkgutil.iter_modules(path)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands; imports them, which loads nothing heavy."""
        return [name for name in self._modules() if self.get_command(ctx, name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; only its module is imported."""
        if cmd_name not in self._modules():
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name}")
        command: click.Command | None = getattr(module, "command", None)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the implied command in front of arguments that name none."""
        if not args and not ctx.resilient_parsing:  # that is a shell completing
            args = [self.empty or "--help"]
        elif args and self.default and args[0] != "--help":
            named = not args[0].startswith("-") and self.get_command(ctx, args[0])
            args = args if named else [self.default, *args]
        return super().parse_args(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Names of commands, and what the implied command would take."""
        items = super().shell_complete(ctx, incomplete)
        command = self.get_command(ctx, self.default) if self.default else None
        for param in command.params if command else []:
            if isinstance(param, click.Argument):
                items += param.shell_complete(ctx, incomplete)
        return items

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and what is left; names near a misspelled one.

        Raises:
            UsageError: No command has this name.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            near = difflib.get_close_matches(name, known) or known
            raise UsageError(
                f"{ctx.command_path} has no command {name!r}",
                hint="did you mean " + " or ".join(near) + "?"
                if near is not known
                else "one of " + ", ".join(known),
            )
        return super().resolve_command(ctx, args)
