"""The files that stand beside a review and a base, and explain them to a person."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from caffe_pytest.knowledge.importers.proposal import FLAGS
from caffe_pytest.knowledge.importers.review import REVIEW, Reviewed

README, TRIPLES, BASE, DATASHEET = "README.md", "triples.csv", "base.yaml", "DATASHEET.md"
ANSWERS = ".caffe"
"""Where the answers of the model that was asked for topics are kept."""
FIRST_VERSION = "0.1.0"


def readme(title: str, folder: str, rows: int, flags: Mapping[str, int], *, asked: bool) -> str:
    """What a person does with the review in `folder`; `asked` is whether a model was."""
    told = "".join(
        f"| {flag} | {flags[flag]:,} | {meaning} |\n"
        for flag, meaning in FLAGS.items()
        if flags.get(flag)
    )
    answers = (
        f"\nThe folder `{ANSWERS}` holds what the model was asked, with parts of the sentences. It "
        "is no part of\nthe base: delete it when the review is done.\n"
    )
    return (
        f"# Review of an import from {title}\n\n"
        f"`{REVIEW}` holds {rows:,} proposals. Nothing is accepted until a person has read it.\n\n"
        "1. Open it in a spreadsheet or an editor. Keep it CSV in UTF-8.\n"
        "2. For each row, write the topic (a neutral noun phrase that could be asked about\n"
        "   anybody) and correct the groups (plural noun phrases that fit a sentence, respectful,\n"
        "   the disadvantaged one first). Then write `yes` or `no` under `accept`. With `no`, say\n"
        "   why under `note`: the row stays in the base as not valid.\n"
        f"3. Run `caffe kb import --accept {folder}`.\n\n"
        "A row whose sentences you need is found in the data set by the number under `source`.\n"
        + (answers if asked else "")
        + (f"\n| flag | rows | means |\n| --- | ---: | --- |\n{told}" if told else "")
    )


def base_yaml(record: Mapping[str, Any]) -> str:
    """`base.yaml`, of the record of an import."""
    # a text in JSON is one in YAML, whatever signs it holds
    described = {
        "name": record["name"],
        "version": FIRST_VERSION,
        "title": record["title"],
        "licence": record["licence"],
        "language": record["language"],
        "datasheet": DATASHEET,
        "triples": TRIPLES,
    }
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in described.items())


def datasheet(record: Mapping[str, Any], reviewed: Reviewed) -> str:
    """The beginning of a datasheet, with what is left for a person to write."""
    valid = Counter(triple.bias_type for triple in reviewed.triples if triple.valid)
    counts = _table(sorted(valid.items()), "bias type", "triples")
    model = record.get("model")
    topics = f" Topics were proposed by {model}." if isinstance(model, str) else ""
    return (
        f"# Datasheet: knowledge base `{record['name']}`\n\n"
        "## What it is\n\n"
        f"{reviewed.accepted:,} triples of topic, disadvantaged group and advantaged group, and "
        f"{len(reviewed.triples) - reviewed.accepted:,} rows\nthat were refused and are not valid."
        "\n\n## Source and licence\n\n"
        f"Imported from `{record['source']}` (format {record['format']}, sha256 "
        f"`{record['sha256']}`).\nLicence: {record['licence']}. To do: cite the source, and check "
        "the licence of your copy.\n\n"
        "## How the triples were made\n\n"
        f"Rows were proposed by rule and decided on by a person.{topics} To do: who reviewed "
        "them,\nand by which rules.\n\n"
        f"## Counts\n\n{counts}\n"
        "## Limits\n\nTo do: whose groups and stereotypes these are, what is missing, and what the "
        "base must\nnot be used for.\n"
    )


def _table(counts: Sequence[tuple[str, int]], first: str, second: str) -> str:
    rows = "".join(f"| {name} | {number:,} |\n" for name, number in counts)
    return f"| {first} | {second} |\n| --- | ---: |\n{rows}"
