"""The simulated models: the same answers everywhere, and an unfairness that is known."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from caffe_pytest.design.intent import Intent, load_intent
from caffe_pytest.errors import CaffeError
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.answer import Message, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.model.triple import KnowledgeBase, Triple
from caffe_pytest.providers.simulated import DISPARITIES, SimulatedProvider, Simulation, _phrases

INTENTS = Path(load_intent.__code__.co_filename).parent / "intents"


@cache
def base() -> KnowledgeBase:
    return load_base(shipped_folder() / "crows-pairs" / "base.yaml")


@cache
def simulation() -> Simulation:
    return Simulation.of(base().sha256, base().triples)


@cache
def intent(name: str) -> Intent:
    return load_intent(INTENTS / f"{name}.yaml")


def triples() -> list[Triple]:
    """Valid ones between a group that is only ever disadvantaged and one that never is."""
    known = simulation().disadvantaged
    return [
        triple
        for triple in base().triples
        if triple.valid
        and triple.bias_type in known.get(triple.disadvantaged.casefold(), ())
        and triple.advantaged.casefold() not in known
    ]


def prompt(triple: Triple, group: str, number: int = 0, name: str = "recommendation") -> str:
    return intent(name).render(number, group=group, topic=triple.topic)


def say(text: str, model: str = "fair", repetition: int = 0, **parameters: Any) -> str:
    answer = simulation().answer(
        f"simulated/{model}", (Message("user", text),), parameters, repetition
    )
    return answer.text


def asked(triple: Triple, model: str, number: int = 0, **parameters: Any) -> tuple[str, str]:
    groups = triple.disadvantaged, triple.advantaged
    first, second = (say(prompt(triple, group, number), model, **parameters) for group in groups)
    return first, second


def masked(answer: str, *groups: str) -> str:
    text = answer.casefold()
    for group in sorted(groups, key=len, reverse=True):
        text = text.replace(group.casefold(), "_")
    return text


# -- the same everywhere --------------------------------------------------------------------------

FINGERPRINT = """
import hashlib, sys
from tests.providers.test_simulated import asked, triples
print(hashlib.sha256("".join(
    text for triple in triples()[:40] for text in asked(triple, "biased", seed=3)
).encode()).hexdigest())
"""


def test_answers_do_not_depend_on_process_or_hash_seed() -> None:
    here = hashlib.sha256(
        "".join(
            text for triple in triples()[:40] for text in asked(triple, "biased", seed=3)
        ).encode()
    ).hexdigest()

    elsewhere = [
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed}, cwd=Path(__file__).parents[2],
        ).stdout.strip()
        for seed in ("0", "4711")
    ]  # fmt: skip

    assert elsewhere == [here, here]


def test_answers_do_not_depend_on_the_order_they_are_asked_in() -> None:
    prompts = [prompt(triple, triple.disadvantaged) for triple in triples()[:50]]

    forwards = {text: say(text, "biased") for text in prompts}
    backwards = {text: say(text, "biased") for text in reversed(prompts)}

    assert forwards == backwards


def test_the_seed_decides() -> None:
    text = prompt(triples()[0], triples()[0].disadvantaged)

    assert say(text, seed=1) == say(text, seed=1)
    assert len({say(text, seed=seed) for seed in range(10)}) > 5


def test_the_context_decides() -> None:
    text = Message("user", prompt(triples()[0], triples()[0].disadvantaged))

    plain = simulation().answer("simulated/fair", (text,), {})
    system = simulation().answer("simulated/fair", (Message("system", "Be brief."), text), {})

    assert plain.text != system.text


def test_repetitions_vary_with_the_temperature() -> None:
    text = prompt(triples()[0], triples()[0].disadvantaged)

    cold = {say(text, repetition=number, temperature=0.0) for number in range(20)}
    hot = {say(text, repetition=number, temperature=1.0) for number in range(20)}

    assert len(cold) == 1
    assert len(hot) > 5


# -- fair -----------------------------------------------------------------------------------------


def test_fair_answers_at_temperature_zero_differ_only_in_the_group() -> None:
    for triple in triples():
        first, second = asked(triple, "fair", temperature=0.0)
        groups = triple.disadvantaged, triple.advantaged

        assert masked(first, *groups) == masked(second, *groups), triple.id


def test_fair_never_treats_anybody_worse() -> None:
    worse = [*_phrases()["discouragements"], *_phrases()["stereotypes"]]
    openings = [text.partition("{")[0] for text in worse]

    for triple in triples()[:200]:
        for answer in asked(triple, "fair", temperature=1.0, strength=1.0):
            assert not is_refusal(answer)
            assert not any(len(start) > 12 and start in answer for start in openings)


# -- biased ---------------------------------------------------------------------------------------


def treated(triple: Triple, side: int, number: int = 0, **parameters: Any) -> bool:
    """Whether the biased model's answer is not the fair one's: the draw is the same otherwise."""
    fair = asked(triple, "fair", number, **parameters)[side]
    return asked(triple, "biased", number, **parameters)[side] != fair


def test_biased_treats_only_disadvantaged_groups_worse() -> None:
    assert not any(treated(triple, 1, strength=1.0) for triple in triples())


def test_at_strength_one_every_disadvantaged_group_is_treated_worse() -> None:
    # an omission of a point that was not there leaves an answer as it was: none does
    assert all(treated(triple, 0, strength=1.0) for triple in triples())


def test_at_strength_zero_biased_is_fair() -> None:
    assert not any(treated(triple, 0, strength=0.0) for triple in triples()[:100])


@pytest.mark.parametrize("strength", [0.1, 0.4, 0.75])
def test_the_share_of_worse_answers_is_the_strength(strength: float) -> None:
    hits = [
        treated(triple, 0, number, strength=strength, temperature=0.0)
        for triple in triples()[:150]
        for number in range(4)
    ]

    test = binomtest(sum(hits), len(hits), strength)

    assert test.pvalue > 0.001, f"{sum(hits)} of {len(hits)}"


def test_only_the_chosen_bias_types_are_treated_worse() -> None:
    for triple in triples():
        own = simulation().disadvantaged[triple.disadvantaged.casefold()]
        worse = treated(triple, 0, strength=1.0, bias_types=["gender"])

        assert worse == ("gender" in own), triple.id


@pytest.mark.parametrize("disparity", DISPARITIES)
def test_each_disparity_alone_can_be_recognised(disparity: str) -> None:
    parts = {
        name: [text.partition("{")[0] for text in _phrases()[name]]
        for name in ("discouragements", "encouragements", "closings")
    }

    for triple in triples()[:60]:
        given: dict[str, Any] = {"strength": 1.0, "disparities": [disparity], "temperature": 0.0}
        fair = asked(triple, "fair", **given)[0]
        answer = asked(triple, "biased", **given)[0]
        sentences, fair_sentences = (text.count(". ") + 1 for text in (answer, fair))

        assert is_refusal(answer) == (disparity == "refusal")
        if disparity == "tone":
            assert any(start in answer for start in parts["discouragements"] if len(start) > 12)
        elif disparity == "omission":
            assert sentences < fair_sentences
            assert any(closing in answer for closing in parts["closings"])
        elif disparity == "length":
            assert sentences == 1
            assert len(answer) < len(fair) / 3
        elif disparity == "stereotype":
            assert triple.disadvantaged.casefold() in answer.casefold()
            assert abs(sentences - fair_sentences) <= 1


# -- labels, groups, parameters -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("toxicity-detection", {"toxic"}),
        ("sentiment-analysis", {"positive", "neutral", "negative"}),
    ],
)
@pytest.mark.parametrize("model", ["fair", "biased"])
def test_label_intents_are_answered_with_a_label(name: str, labels: set[str], model: str) -> None:
    templates = range(len(intent(name).file.templates))

    for triple in triples()[:20]:
        for number in templates:
            text = prompt(triple, triple.disadvantaged, number, name)
            answer = say(text, model, strength=1.0, disparities=["tone"])

            assert len(answer.split()) <= 8, answer
            assert any(label in answer.casefold() for label in labels), answer


def test_the_longest_name_of_a_group_is_understood() -> None:
    known = simulation()

    assert known._understand("How do gay men drive?").group == "gay men"
    assert known._understand("How do men drive?").group == "men"
    assert known._understand("How do women drive?").masked == "How do GROUP drive?"
    assert known._understand("Gay men and driving").group == "gay men"  # as the base spells it


def test_a_prompt_about_nobody_known_is_answered_too() -> None:
    assert len(say("What is the weather like?", "biased", strength=1.0)) > 100


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"strength": 1.5}, "strength"),
        ({"strength": "much"}, "strength"),
        ({"disparities": []}, "disparities"),
        ({"disparities": ["rudeness"]}, "disparities"),
        ({"bias_types": "gender"}, "bias_types"),
        ({"temperature": -1}, "temperature"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_parameters_that_plant_nothing_sensible_are_refused(
    parameters: dict[str, Any], named: str
) -> None:
    provider = SimulatedProvider(ModelUnderTest(model="simulated/biased"), base())

    with pytest.raises(CaffeError, match=rf"parameter {named}.*; .+"):
        provider.check_parameters(parameters)


def test_parameters_of_other_providers_are_passed_over() -> None:
    provider = SimulatedProvider(ModelUnderTest(model="simulated/fair"), base())

    provider.check_parameters({"max_tokens": 300, "top_p": 0.5, "temperature": 1})


def test_an_unknown_simulated_model_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(CaffeError, match='did you mean "simulated/biased"'):
        SimulatedProvider(ModelUnderTest(model="simulated/baised"), base())


def test_the_identity_names_the_base_the_answers_depend_on() -> None:
    provider = SimulatedProvider(ModelUnderTest(model="simulated/fair"), base())

    assert json.loads(json.dumps(dict(provider.identity)))["base"] == base().sha256[:16]


def test_the_provider_says_what_the_simulation_says() -> None:
    provider = SimulatedProvider(ModelUnderTest(model="simulated/fair"), base())
    text = prompt(triples()[0], triples()[0].disadvantaged)
    request = Request(provider.identity, "simulated/fair", {}, (Message("user", text),), 3)

    answer = asyncio.run(provider.ask(request, timeout=1.0))

    assert answer.text == say(text, repetition=3)


def test_a_noisy_model_treats_every_group_worse_alike() -> None:
    """The asked share of answers declines, whichever the group."""
    declined = [0, 0]
    for triple in triples()[:60]:
        for side, group in enumerate((triple.disadvantaged, triple.advantaged)):
            for repetition in range(4):
                answer = say(
                    prompt(triple, group), "noisy", repetition, strength=0.3,
                    disparities=["refusal"],
                )  # fmt: skip
                declined[side] += is_refusal(answer)

    first, second = (count / 240 for count in declined)
    assert first == pytest.approx(0.3, abs=0.1)
    assert second == pytest.approx(0.3, abs=0.1)


def test_a_noisy_model_varies_more_than_a_fair_one() -> None:
    text = prompt(triples()[0], triples()[0].disadvantaged)

    def different(model: str) -> int:
        return len({say(text, model, repetition, strength=0.0) for repetition in range(30)})

    assert different("noisy") > different("fair")
