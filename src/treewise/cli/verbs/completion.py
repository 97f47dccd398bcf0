"""``treewise completion``: the script that completes commands in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from treewise.cli.app import app
from treewise.cli.completion import COMPLETION_VARIABLE, SHELLS, default_shell
from treewise.cli.output import print_text
from treewise.cli.verb import verb
from treewise.errors import ParameterError


@verb(
    "completion",
    "[bash|zsh|fish]",
    examples=(
        "treewise completion bash",
        "treewise completion fish > ~/.config/fish/completions/treewise.fish",
    ),
    about='Add eval "$(treewise completion bash)" to ~/.bashrc, or the same with zsh to ~/.zshrc.'
    " TAB then completes verbs, options, their values, files, built-in tables, and the columns of a table, as in"
    " treewise grow penguins --target sp. Without an argument, the script is for $SHELL.",
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(shell: str | None) -> None:
    """Print the script of a shell."""
    shell = shell or default_shell()
    if shell is None:
        raise ParameterError(f"name the shell: {', '.join(SHELLS)}.")
    script = get_completion_class(shell)
    assert script is not None
    print_text(script(app, {}, "treewise", COMPLETION_VARIABLE).source())
