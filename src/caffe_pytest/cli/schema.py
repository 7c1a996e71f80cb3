"""`caffe schema`."""

from __future__ import annotations

import click

from caffe_pytest.specs.schema import test_case_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of test cases, for editors and other tools."""
    click.echo(test_case_schema(), nl=False)
