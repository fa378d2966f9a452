"""`watchbell completion`."""

import click
from click.shell_completion import get_completion_class


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script with which a shell completes commands and options.

    \b
    Examples:
      bash:  eval "$(watchbell completion bash)"
      zsh:   eval "$(watchbell completion zsh)"
      fish:  watchbell completion fish | source
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root().command
    click.echo(kind(root, {}, "watchbell", "_WATCHBELL_COMPLETE").source())
