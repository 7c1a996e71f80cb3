"""The command `caffe`: one file a command, each imported when it is needed."""

from __future__ import annotations

import importlib
import sys

import click

from caffe_pytest.errors import CaffeError
from caffe_pytest.version import __version__

COMMANDS = {
    "init": "Write a first test case into a folder.",
    "validate": "Check test cases without asking any model.",
    "run": "Ask the models, judge the answers, write a report.",
    "calibrate": "Measure what chance alone does, and which verdicts it allows.",
    "score": "Score answers that stand beside each other.",
    "judge": "Judge answers that were collected elsewhere.",
    "report": "Show a run again, or the statistics of the CAFFE paper.",
    "kb": "Look at knowledge bases, check, compare and export them.",
    "schema": "Print the JSON Schema of test cases.",
}
"""With their one-line help, so that `caffe --help` imports none of them."""

# exit codes, as pytest's
OK = 0
FAILED = 1
INTERRUPTED = 2
BROKEN = 3
USAGE = 4
"""Wrong usage, or wrong input."""
NOTHING_TO_RUN = 5


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"caffe_pytest.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="caffe")
def caffe() -> None:
    """Fairness test cases for language models, written in YAML."""


def main() -> None:
    """Run the command line; a user's mistake ends in a message, never in a traceback."""
    try:
        status = caffe.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = USAGE
    except click.Abort:
        click.echo("interrupted", err=True)
        status = INTERRUPTED
    except CaffeError as error:
        click.echo(str(error), err=True)
        status = USAGE
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        status = OK
    sys.exit(status if isinstance(status, int) else OK)
