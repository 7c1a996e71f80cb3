"""Which prompts are accepted as a pair that differs only in the group."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from caffe_pytest.design.counterfactual import NotCounterfactual, check_counterfactual
from caffe_pytest.design.intent import Intent, IntentFile, load_intent
from caffe_pytest.design.pairs import PairSlot, make_pair
from caffe_pytest.extensions import load_extensions
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.prompt_pair import PromptPair
from caffe_pytest.model.triple import Triple

INTENTS = sorted(load_extensions().intents)


def triple(disadvantaged: str, advantaged: str, topic: str = "work") -> Triple:
    return Triple(
        id="t1", bias_type="gender", topic=topic, disadvantaged=disadvantaged, advantaged=advantaged
    )


def pair(about: Triple, first: str, second: str) -> PromptPair:
    return PromptPair(about, "own", 3, first, second)


def rendered(template: str, about: Triple) -> PromptPair:
    """What `make_pair` makes of one template, checked."""
    file = IntentFile(name="own", templates=(template,))
    return make_pair(PairSlot(about, 1, "name"), Intent(file, Path("own.yaml"), ""), seed=0)


@pytest.mark.parametrize("path", INTENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pairs_of_the_built_in_intents_differ_only_in_the_group(path: Path) -> None:
    intent = load_intent(path)
    named = "lavoro" if intent.file.language == "it" else "crows-pairs"
    base = load_base(shipped_folder() / named / "base.yaml")
    valid = [triple for triple in base.triples if triple.valid]
    triples = random.Random(path.stem).sample(valid, 30)

    pairs = [
        make_pair(PairSlot(about, number, ""), intent, seed=0)
        for about in triples
        for number in range(1, len(intent.file.templates) + 1)
    ]

    for made in pairs:
        masked = {
            re.sub(rf"(?i)(?<!\w){re.escape(group)}(?!\w)", "GROUP", prompt, count=1)
            for group, prompt in zip(made.groups, made.prompts, strict=True)
        }
        assert len(masked) == 1, made
        assert made.disadvantaged != made.advantaged
        for prompt in made.prompts:
            assert "{" not in prompt
            assert prompt == prompt.strip()


@pytest.mark.parametrize(
    ("disadvantaged", "advantaged"),
    [
        ("women", "men"),
        ("men", "women"),
        ("gay men", "men"),
        ("men", "gay men"),
        ("Black women", "women"),
        ("women who work", "women"),
        ("Black people", "white people"),
        ("white people", "Black people"),
        ("C++ developers", "C# (.NET) developers"),
        ("people (60+)", "people [under 30]"),
        ("a|b", ".*"),
        ("people on $5 a day", r"people\nwith \d houses"),
        ("über-60-Jährige", "Junge"),
        ("ßa", "ẞa"),
        ("女性", "男性"),
    ],
)
@pytest.mark.parametrize(
    "template",
    [
        "What do {{ group }} think of {{ topic }}?",
        "{{ group | sentence_start }} and {{ topic }}.",
        "{{ group | sentence_start }} say: {{ group }}. {{ group | sentence_start }}!",
        "“{{ group }}”, ({{ group }}), {{ group }}'s",
    ],
)
def test_any_two_groups_may_stand_in_a_pair(
    template: str, disadvantaged: str, advantaged: str
) -> None:
    made = rendered(template, triple(disadvantaged, advantaged))

    assert made.groups == (disadvantaged, advantaged)


@pytest.mark.parametrize(
    "topic",
    ["women at work", "work by men and women", "what gay men say about men", "Women"],
)
@pytest.mark.parametrize(
    ("disadvantaged", "advantaged"), [("women", "men"), ("gay men", "men"), ("men", "gay men")]
)
def test_a_topic_may_name_a_group_too(topic: str, disadvantaged: str, advantaged: str) -> None:
    about = triple(disadvantaged, advantaged, topic)

    made = rendered("Tell {{ group }} about {{ topic }}.", about)

    assert made.prompts == (
        f"Tell {disadvantaged} about {topic}.",
        f"Tell {advantaged} about {topic}.",
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Praise women.", "Blame men."),
        ("Praise women.", "Praise men!"),
        ("Praise women.", "Praise the men."),
        ("Praise women.", "Praise men. "),
        ("Praise women.", "Praise Men."),
        ("Praise women and others.", "Praise men and others.\n"),
        ("Praise women.", "Praise boys."),
        ("Praise them.", "Praise men."),
        ("Praise womenfolk.", "Praise menfolk."),
        ("women and men", "men and men, women"),
    ],
)
def test_prompts_that_differ_in_more_than_the_group_are_refused(first: str, second: str) -> None:
    with pytest.raises(NotCounterfactual) as caught:
        check_counterfactual(pair(triple("women", "men"), first, second))

    assert str(caught.value) == (
        "intent own, triple t1, prompt 3: the prompts differ in more than the group: "
        f'"{first}" against "{second}"; a template may not depend on which group it names'
    )


def test_prompts_that_name_no_group_are_refused() -> None:
    same = "What do people think; what do they say?"

    with pytest.raises(NotCounterfactual) as caught:
        check_counterfactual(pair(triple("women", "men"), same, same))

    assert str(caught.value) == (
        f'intent own, triple t1, prompt 3: the prompt names no group: "{same}"; '
        "put {{ group }} where the group stands"
    )


@pytest.mark.parametrize(
    "template",
    [
        "{% if group == 'women' %}Praise{% else %}Blame{% endif %} {{ group }}",
        "{{ 'Praise' if 'wo' in group else 'Blame' }} {{ group }}",
        "{{ group }} {{ group | length }}",
        "{{ group | upper }} at work",
        "{{ group | reverse }}",
        "{{ topic if group else topic }}",
        "{% if false %}{{ group }}{% endif %}{{ topic }}",
    ],
)
def test_a_template_that_depends_on_the_group_is_refused(template: str) -> None:
    with pytest.raises(NotCounterfactual):
        rendered(template, triple("women", "men"))
