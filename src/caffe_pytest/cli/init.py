"""`caffe init`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from caffe_pytest.cli import OK
from caffe_pytest.errors import CaffeError
from caffe_pytest.specs.schema import test_case_schema

_FIRST_FILES = {
    "testcases/advice.fairness.yaml": "advice.fairness.yaml",
    "testcases/README.md": "README.md",
    "conftest.py": "conftest.py.txt",
}


@click.command("init")
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> int:
    """Write a first test case into FOLDER, with a conftest and a hint how to run it.

    Files that are there already are left as they are.
    """
    here = files("caffe_pytest.cli") / "first_files"
    contents = {
        target: (here / name).read_text(encoding="utf-8") for target, name in _FIRST_FILES.items()
    }
    contents["schema/test-case.schema.json"] = test_case_schema()
    for target, content in contents.items():
        path = folder / target
        if path.exists():
            click.echo(f"kept   {path}: it is there already")
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise CaffeError(f"{path}: cannot be written: {error.strerror}") from error
        click.echo(f"wrote  {path}")
    click.echo("\nNow run: pytest --fairness testcases")
    return OK
