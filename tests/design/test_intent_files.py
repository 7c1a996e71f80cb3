"""The intent files hold well-formed, diverse prompt templates."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, StrictUndefined, Template, nodes

INTENTS_DIR = Path(__file__).resolve().parents[2] / "src" / "caffe_pytest" / "design" / "intents"

DELIVERY = ("question", "recommendation", "direction", "clarification")
CLASSIFICATION_LABELS = {
    "sentiment-analysis": ["positive", "negative", "neutral"],
    "toxicity-detection": ["toxic", "not toxic"],
}
INTENTS = (*DELIVERY, "question-answering", *CLASSIFICATION_LABELS)

GROUPS = (
    "women",
    "Black people",
    "people with disabilities",
    "gay men",
    "Muslims",
    "elderly people",
    "poor people",
    "Mexican immigrants",
)
TOPICS = (
    "money management",
    "leadership at work",
    "driving",
    "emotional sensitivity",
    "punctuality",
    "raising children",
    "math skills",
    "religious extremism",
)

MIN_TEMPLATES = 12
MIN_WORDS = 8
MAX_WORDS = 45

# A prompt ends like a sentence, like a quoted sentence, or with a colon that
# asks the model to fill in the answer.
ENDING = re.compile(r"(?:[.?!]'?|:)$")
BARRED_BEFORE_GROUP = re.compile(
    r"\b(?:a|an|the|some|each|every|this|these|those)\s+\{\{\s*group\b", re.IGNORECASE
)
GENDERED_PRONOUN = re.compile(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", re.IGNORECASE)


def sentence_start(text: str) -> str:
    return text[:1].upper() + text[1:]


def make_environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.filters["sentence_start"] = sentence_start
    return environment


ENVIRONMENT = make_environment()


def load(intent: str) -> dict[str, Any]:
    text = (INTENTS_DIR / f"{intent}.yaml").read_text(encoding="utf-8")
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


@cache
def compiled(template: str) -> Template:
    return ENVIRONMENT.from_string(template)


def render(template: str, group: str, topic: str) -> str:
    return compiled(template).render(group=group, topic=topic)


def renders(intent: str) -> list[str]:
    return [
        render(template, group, topic)
        for template, group, topic in product(load(intent)["templates"], GROUPS, TOPICS)
    ]


def opening(prompt: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w'-]+", prompt.lower())[:3])


def names_label(prompt: str, label: str, labels: list[str]) -> bool:
    """Whether the label occurs outside any longer label that contains it."""
    for other in labels:
        if other != label and label in other:
            prompt = re.sub(rf"\b{re.escape(other)}\b", "", prompt)
    return re.search(rf"\b{re.escape(label)}\b", prompt) is not None


every_intent = pytest.mark.parametrize("intent", INTENTS)


@every_intent
def test_the_file_starts_with_one_comment_line(intent: str) -> None:
    lines = (INTENTS_DIR / f"{intent}.yaml").read_text(encoding="utf-8").splitlines()
    assert [line.startswith("#") for line in lines[:2]] == [True, False]


@every_intent
def test_the_header_fields_are_complete(intent: str) -> None:
    data = load(intent)
    expected = {"name", "description", "language", "answer", "templates"}
    if intent in CLASSIFICATION_LABELS:
        expected.add("labels")
    assert set(data) == expected
    assert data["name"] == intent
    assert data["language"] == "en"
    assert re.fullmatch(r"[A-Z][^.]+\.", data["description"])


@every_intent
def test_only_classification_intents_expect_a_label(intent: str) -> None:
    data = load(intent)
    is_classification = intent in CLASSIFICATION_LABELS
    assert data["answer"] == ("label" if is_classification else "text")
    assert data.get("labels") == CLASSIFICATION_LABELS.get(intent)


@every_intent
def test_there_are_enough_templates(intent: str) -> None:
    templates = load(intent)["templates"]
    assert len(templates) >= MIN_TEMPLATES
    assert all(isinstance(template, str) for template in templates)


def test_all_templates_are_unique_within_and_across_intents() -> None:
    templates = [
        template.casefold() for intent in INTENTS for template in load(intent)["templates"]
    ]
    assert len(set(templates)) == len(templates)


@every_intent
def test_each_template_uses_group_and_topic_exactly_once(intent: str) -> None:
    for template in load(intent)["templates"]:
        tree = ENVIRONMENT.parse(template)
        names = sorted(node.name for node in tree.find_all(nodes.Name))
        assert names == ["group", "topic"], template


@every_intent
def test_templates_hold_no_logic_and_no_other_filter(intent: str) -> None:
    allowed = re.compile(r"\{\{ (?:group|group \| sentence_start|topic) \}\}")
    for template in load(intent)["templates"]:
        assert not re.search(r"[{}]", allowed.sub("", template)), template


@every_intent
def test_the_group_is_upper_cased_only_where_a_sentence_starts(intent: str) -> None:
    for template in load(intent)["templates"]:
        for match in re.finditer(r"\{\{ group( \| sentence_start)? \}\}", template):
            before = template[: match.start()].rstrip(" '")
            at_start = not before or before[-1] in ".?!:"
            assert bool(match.group(1)) == at_start, template


@every_intent
def test_no_sentence_starts_with_the_topic(intent: str) -> None:
    for template in load(intent)["templates"]:
        assert not re.search(r"(?:^|[.?!:])[ ']*\{\{ topic", template), template


@every_intent
def test_no_article_or_determiner_stands_before_the_group(intent: str) -> None:
    for template in load(intent)["templates"]:
        assert not BARRED_BEFORE_GROUP.search(template), template


@every_intent
def test_no_pronoun_reveals_gender(intent: str) -> None:
    for template in load(intent)["templates"]:
        assert not GENDERED_PRONOUN.search(template), template


@every_intent
def test_every_prompt_begins_with_a_capital_letter(intent: str) -> None:
    for prompt in renders(intent):
        assert prompt.lstrip("'")[0].isupper(), prompt


@every_intent
def test_every_prompt_ends_with_proper_punctuation(intent: str) -> None:
    for prompt in renders(intent):
        assert ENDING.search(prompt), prompt


@every_intent
def test_only_label_intents_end_with_a_colon(intent: str) -> None:
    if intent not in CLASSIFICATION_LABELS:
        assert not any(prompt.endswith(":") for prompt in renders(intent))


@every_intent
def test_prompts_have_clean_spacing(intent: str) -> None:
    for prompt in renders(intent):
        assert prompt == " ".join(prompt.split()), prompt
        assert not re.search(r" [.,;:?!]", prompt), prompt


@every_intent
def test_prompts_stay_within_the_length_limits(intent: str) -> None:
    for prompt in renders(intent):
        assert MIN_WORDS <= len(prompt.split()) <= MAX_WORDS, prompt


@every_intent
@pytest.mark.parametrize("group", GROUPS)
def test_no_two_prompts_begin_with_the_same_three_words(intent: str, group: str) -> None:
    openings = [
        opening(render(template, group, TOPICS[0])) for template in load(intent)["templates"]
    ]
    assert len(set(openings)) == len(openings)


@pytest.mark.parametrize("intent", CLASSIFICATION_LABELS)
def test_every_template_of_a_label_intent_names_each_label(intent: str) -> None:
    data = load(intent)
    for template in data["templates"]:
        for label in data["labels"]:
            assert names_label(template, label, data["labels"]), (label, template)


def test_a_label_inside_a_longer_label_does_not_count_as_named() -> None:
    labels = CLASSIFICATION_LABELS["toxicity-detection"]
    assert not names_label("Say not toxic.", "toxic", labels)
    assert names_label("Say toxic or not toxic.", "toxic", labels)
