"""`caffe kb import`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from pydantic import ValidationError

from caffe_pytest.cli import OK
from caffe_pytest.errors import CaffeError, printable
from caffe_pytest.extensions import conftest_plugins, load_extensions
from caffe_pytest.knowledge.importers.formats import FORMATS
from caffe_pytest.knowledge.importers.pages import BASE, README
from caffe_pytest.knowledge.importers.review import REVIEW
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.services.import_base import (
    Imported,
    Wanted,
    accept_review,
    import_base,
)


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), help="Of SOURCE.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Where the review is written.",
)  # fmt: skip
@click.option("--name", help="Of the base; that of the folder where nothing is said.")
@click.option("--licence", help="Of the base; that of the data set where nothing is said.")
@click.option("--model", metavar="NAME", help="Asked for topics, as in openai/gpt-4o-mini.")
@click.option("--api-base", metavar="URL", help="Of an OpenAI-compatible endpoint.")
@click.option("--api-key", metavar="env:NAME", help="The environment variable with the key.")
@click.option("--with-sentences", is_flag=True, help="Write the sentences into the review too.")
@click.option("--accept", is_flag=True, help="Make the base of the reviewed folder SOURCE.")
def command(
    source: Path,
    format_name: str | None,
    out: Path | None,
    accept: bool,
    with_sentences: bool,
    **texts: str | None,
) -> int:
    """Make a knowledge base of a data set, with a person in between.

    First `caffe kb import SOURCE --format ... --out FOLDER` writes proposals to FOLDER/review.csv.
    When each has a yes or no, `caffe kb import --accept FOLDER` writes the base beside it.
    """
    if accept:
        others = [format_name, out, with_sentences or None, *texts.values()]
        if any(value is not None for value in others):
            raise CaffeError("--accept takes the reviewed folder alone; remove the other options")
        return _accept(source)
    if format_name is None or out is None:
        missing = "--format" if format_name is None else "--out"
        remedy = "say which data set this is" if format_name is None else "name a folder"
        raise CaffeError(f"{missing} is missing; {remedy}")
    wanted = Wanted(
        source=source,
        format=format_name,
        out=out,
        name=texts["name"],
        licence=texts["licence"],
        model=_model(texts["model"], texts["api_base"], texts["api_key"]),
        with_sentences=with_sentences,
    )
    found = import_base(wanted, load_extensions(conftest_plugins([Path.cwd()])))
    for line in _told(found, wanted):
        click.echo(printable(line))
    if with_sentences:
        licence = wanted.licence or FORMATS[format_name].licence
        click.echo(
            f"{out / REVIEW} holds sentences of the data set: pass it on under its licence only "
            f"({licence}); the base will hold none",
            err=True,
        )
    return OK


def _accept(folder: Path) -> int:
    done = accept_review(folder)
    click.echo(f"{done.accepted:,} triples accepted, {done.refused:,} refused: {folder / BASE}")
    if done.kept:
        click.echo(f"kept as you changed them: {', '.join(done.kept)}")
    return OK


def _model(model: str | None, api_base: str | None, api_key: str | None) -> ModelUnderTest | None:
    if model is None:
        for option, value in (("--api-base", api_base), ("--api-key", api_key)):
            if value is not None:
                raise CaffeError(f"{option} belongs to --model; name the model, or remove it")
        return None
    given = {"model": model, "api_base": api_base, "api_key": api_key}
    try:
        return ModelUnderTest.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        wrong = str(error.errors()[0]["loc"][0])
        # the value may be a key: it is not shown
        remedies = {
            "api_key": "has to name an environment variable; write env:NAME, and put the key there",
            "api_base": "is no plain address; write http://host:port/v1",
        }
        told = remedies.get(wrong, "is no name of a model; write it as in openai/gpt-4o-mini")
        raise CaffeError(f"--{wrong.replace('_', '-')}: {told}") from None


def _told(found: Imported, wanted: Wanted) -> Iterator[str]:
    yield f"read: {', '.join(name or '(no name)' for name in found.read)}"
    if found.unread:
        yield f"not read: {', '.join(found.unread)}"
    yield (
        f"{found.rows:,} proposals: {found.both_groups:,} with two groups, {found.topics:,} with a "
        "topic"
    )
    for flag, number in sorted(found.flags.items(), key=lambda item: (-item[1], item[0])):
        yield f"{number:>8,} {flag}"
    if found.failures:
        failures = ", ".join(f"{n} {outcome}" for outcome, n in sorted(found.failures.items()))
        yield f"questions without an answer: {failures}; import again to ask them once more"
    yield f"now read {wanted.out / README}, and decide on each row of {wanted.out / REVIEW}"
