"""StereoSet (Nadeem, Bethke and Reddy, ACL 2021): a stereotype of one group at a time.

https://github.com/moinnadeem/StereoSet. An example names one group, its target; the other one is
for a person to name. Examples of both kinds are read, between sentences and within one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caffe_pytest.errors import Problem, ProblemsFound
from caffe_pytest.knowledge.importers import proposal
from caffe_pytest.knowledge.importers.groups_of_edit import BLANK
from caffe_pytest.knowledge.importers.proposal import Proposal, formula
from caffe_pytest.knowledge.importers.source import JsonFile, Place, Source, read_json
from caffe_pytest.model.triple import as_name
from caffe_pytest.specs.rows import MOST_SHOWN

NAME = "stereoset"
KINDS = ("intersentence", "intrasentence")
KEYS = ("target", "bias_type", "context", "sentences")
STEREOTYPE, ANTI_STEREOTYPE = "stereotype", "anti-stereotype"


def read(path: Path) -> Source:
    """The examples of the data set.

    Raises:
        ProblemsFound: the file is no JSON, or not that of the data set.
    """
    file = read_json(path)
    data = file.data.get("data") if isinstance(file.data, dict) else None
    data = data if isinstance(data, dict) else {}
    kinds = [kind for kind in KINDS if isinstance(data.get(kind), list)]
    if not kinds:
        cause, remedy = "holds no examples", 'give {"data": {"intersentence": [...]}}'
        raise ProblemsFound([file.problem(("data",), cause, remedy)])
    problems: list[Problem] = []
    for kind in kinds:
        for at, example in enumerate(data[kind]):
            problems += _problems(file, ("data", kind, at), example)
            if len(problems) >= MOST_SHOWN:
                raise ProblemsFound(problems)
    if problems:
        raise ProblemsFound(problems)
    return Source((*KEYS, "gold_label"), (), _proposals(data, kinds))


def _problems(file: JsonFile, place: Place, example: Any) -> Iterator[Problem]:
    if not isinstance(example, dict):
        yield file.problem(place, "is no example", f"write an object with {', '.join(KEYS)}")
        return
    for key in KEYS[:3]:
        if not isinstance(example.get(key), str) or not example[key].strip():
            yield file.problem((*place, key), "is missing, or no text", f'write "{key}": "..."')
    sentences = example.get("sentences")
    if not isinstance(sentences, list) or not all(_is_sentence(one) for one in sentences):
        remedy = 'write [{"sentence": "...", "gold_label": "stereotype"}]'
        yield file.problem((*place, "sentences"), "should be a list of sentences", remedy)


def _is_sentence(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(key), str) for key in ("sentence", "gold_label")
    )


def _proposals(data: dict[str, Any], kinds: list[str]) -> Iterator[Proposal]:
    number = 0
    for kind in kinds:
        for example in data[kind]:
            number += 1
            yield _proposal(number, kind, example)


def _proposal(number: int, kind: str, example: dict[str, Any]) -> Proposal:
    target, bias_type = example["target"].strip(), example["bias_type"].strip()
    labelled = {one["gold_label"]: one["sentence"] for one in example["sentences"]}
    sentences = labelled.get(STEREOTYPE, ""), labelled.get(ANTI_STEREOTYPE, "")
    context = example["context"] if kind == "intersentence" else ""
    question = re.sub(re.escape(target), BLANK, f"{context} {sentences[0]}", flags=re.IGNORECASE)
    proposed = Proposal(
        f"ss-{number:04}", as_name(bias_type), "", target, "", proposal.FROM_SOURCE,
        (proposal.ONE_GROUP, proposal.REPHRASE, proposal.DIRECTION_UNKNOWN),
        f"{NAME}:{example.get('id') or number}", sentences=sentences, question=question.strip(),
    )  # fmt: skip
    return proposed.with_flags(
        "" if proposed.bias_type == bias_type else proposal.BIAS_TYPE,
        formula(target, bias_type, *sentences),
    )
