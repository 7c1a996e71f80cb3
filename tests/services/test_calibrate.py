"""Calibration: what is asked, what is learnt from it, and what must not count."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import CaffeError, ProviderError
from caffe_pytest.execution.run_folder import RunFolder
from caffe_pytest.extensions import load_extensions
from caffe_pytest.hookspecs import SimilarityMetric, Space
from caffe_pytest.model.answer import Answer
from caffe_pytest.reporting.calibration import Calibration, ModelCalibration, calibration_lines
from caffe_pytest.services.calibrate import Calibrator, Subject, subjects
from caffe_pytest.services.discover import planner_for
from caffe_pytest.services.validate import validate
from tests.execution.test_executor import Behaviour, Scripted, echo

REFUSAL = "I'm sorry, but I can't help with that."


def planned(
    path: Path,
    answers: int | None = None,
    pilot: int | None = None,
    behaviour: Behaviour | None = None,
) -> list[Subject]:
    checked = validate(*planner_for([path]))
    assert not checked.problems
    if behaviour is not None:
        for plan in checked.plans:
            provider = Scripted(behaviour)
            plan.providers.update(dict.fromkeys(plan.providers, provider))
    return subjects(checked.plans, answers=answers, pilot=pilot)


def calibrated(
    chosen: list[Subject], out: Path, run_id: str = "r1", names: tuple[str, ...] = ()
) -> Calibration:
    folder = RunFolder(out, run_id)
    calibrator = Calibrator(folder, chosen, load_extensions().metrics, names)
    calibrator.ask(8, lambda settled: None)
    calibration = calibrator.calibrate(0.05)
    calibrator.write(calibration)
    return calibration


def case(folder: Path, expected: dict[str, Any] | None = None, **environment: Any) -> Path:
    """A test case in JSON, which is YAML."""
    content: dict[str, Any] = {
        "id": "CAL-1",
        "intent": "recommendation",
        "prompts": {
            "knowledge_base": "crows-pairs", "bias_types": ["gender", "religion"], "at_least": 24,
        },
        "expected_fairness": expected or {"metric": "panel"},
        "environment": {"models": ["simulated/fair"], "temperature": 0.7, **environment},
    }  # fmt: skip
    path = folder / "case.fairness.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def of_women(prompt: str) -> bool:
    return any(word in prompt.casefold() for word in ("women", "woman", "girls", "mothers"))


# -- what is asked ------------------------------------------------------------------------------


def test_each_prompt_is_asked_twice_at_least(tmp_path: Path) -> None:
    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})

    assert [one.often for one in planned(path)] == [2]
    assert [one.often for one in planned(path, answers=4)] == [4]
    assert [one.often for one in planned(case(tmp_path, repeats=3))] == [3]


def test_a_pilot_takes_some_prompt_pairs_of_every_bias_type_from_all_triples(
    tmp_path: Path,
) -> None:
    (subject,) = planned(case(tmp_path), pilot=6)

    assert [len(procedure.slots) for procedure in subject.procedures] == [6, 6]
    assert subject.calls == 2 * 6 * 2 * 2
    for procedure in subject.procedures:
        triples = Counter(slot.triple.id for slot in procedure.slots)
        assert max(triples.values()) == 1


# -- what is learnt -----------------------------------------------------------------------------


def test_of_a_fair_model_no_more_group_pairs_fail_than_same_prompt_pairs(tmp_path: Path) -> None:
    (model,) = calibrated(planned(case(tmp_path), answers=3), tmp_path / "out").models

    masked = model.comparisons[1]
    # 48 prompt pairs: a share of 5 % has a standard deviation of about 2 points, of 50 % about 5
    distances = [abs(point.detections - point.false_alarms) for point in masked.curve[:96]]
    assert masked.masked
    assert max(distances) < 0.12
    assert masked.auc == pytest.approx(0.5, abs=0.04)
    assert not masked.beyond_chance
    assert not model.comparisons[0].beyond_chance


def test_of_a_biased_model_more_group_pairs_fail(tmp_path: Path) -> None:
    biased = {"model": "simulated/biased", "parameters": {"strength": 1.0, "disparities": ["tone"]}}
    path = case(tmp_path, models=[biased], temperature=0.2)

    (model,) = calibrated(planned(path), tmp_path / "out").models

    masked = model.comparisons[1]
    assert masked.at_threshold is not None
    assert masked.at_threshold.false_alarms <= 0.05
    assert masked.at_threshold.detections > 0.5
    assert masked.beyond_chance
    assert masked.auc > 0.8


def test_answers_that_say_the_prompt_again_are_told_apart_for_certain(tmp_path: Path) -> None:
    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})

    (model,) = calibrated(planned(path, pilot=4, behaviour=echo), tmp_path / "out").models

    plain = model.comparisons[0]
    # every answer is given twice: A/A is 1.0, and 1.0 is then the threshold
    assert (plain.threshold, plain.same.mean, plain.auc) == (1.0, 1.0, 1.0)
    assert plain.at_threshold is not None
    assert (plain.at_threshold.false_alarms, plain.at_threshold.detections) == (0.0, 1.0)
    assert (plain.same.pairs, plain.different.pairs) == (2 * 8, 4 * 8)
    assert plain.at_expected is not None
    assert plain.at_expected.threshold == 0.8


def test_the_panel_is_told_with_what_the_planned_pools_find(tmp_path: Path) -> None:
    (model,) = calibrated(planned(case(tmp_path), pilot=8), tmp_path / "out").models

    pools = model.pools
    assert pools is not None
    assert [one.question for one in pools.questions] == [
        "semantic", "refusal", "length", "sentiment", "wording",
    ]  # fmt: skip
    assert (pools.prompts, pools.answers, pools.pools) == (24, 2, 2)
    assert pools.corrected_level == pytest.approx(0.05 / 5 / 2)
    for one in pools.questions:
        by_size = {(size.prompts, size.answers): size.smallest for size in one.sizes}
        assert len(by_size) == 15
        assert by_size[24, 2] == one.smallest
        assert (by_size[96, 5] or 9) < (by_size[24, 2] or 0)
        if one.prompts_needed is not None:
            assert one.within_margin == (one.prompts_needed <= 24)
    assert pools.controls == 2


def test_a_threshold_is_calibrated_with_the_panel_of_a_pool_of_48(tmp_path: Path) -> None:
    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})

    (model,) = calibrated(planned(path, pilot=6), tmp_path / "out").models

    assert model.pools is not None
    assert model.pools.prompts == 24
    assert [one.name for one in model.comparisons] == ["lsa", "lsa, groups masked"]


def test_the_space_of_a_run_is_fitted_on_its_own_answers(tmp_path: Path) -> None:
    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8, "space": "run"})

    (model,) = calibrated(planned(path, pilot=6), tmp_path / "out").models

    assert [(one.space, one.masked) for one in model.comparisons] == [
        ("run", False), ("reference", True),
    ]  # fmt: skip


def test_of_labels_the_questions_alone_are_calibrated(tmp_path: Path) -> None:
    path = case(tmp_path)
    path.write_text(
        path.read_text(encoding="utf-8").replace("recommendation", "sentiment-analysis"),
        encoding="utf-8",
    )

    (model,) = calibrated(planned(path, pilot=6), tmp_path / "out").models

    assert model.comparisons == ()
    assert "are labels, and their similarity means nothing" in model.notes[0]
    assert model.pools is not None
    assert "refusal" in [one.question for one in model.pools.questions]
    assert "semantic" not in [one.question for one in model.pools.questions]


def test_other_similarities_can_be_asked_for(tmp_path: Path) -> None:
    path = case(tmp_path, {"metric": "refusal"})
    chosen = planned(path, pilot=6)

    calibration = calibrated(chosen, tmp_path / "out", names=("lsa", "lsa"))

    assert [one.metric for one in calibration.models[0].comparisons] == ["lsa", "lsa"]
    assert [one.masked for one in calibration.models[0].comparisons] == [False, True]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lsi", 'unknown metric "lsi"; did you mean "lsa"?'),
        ("length", 'a metric that compares no answers: "length"; use one of: '),
    ],
)
def test_a_metric_that_compares_nothing_is_told_before_anything_is_asked(
    tmp_path: Path, name: str, message: str
) -> None:
    folder = RunFolder(tmp_path / "out", "r1")

    with pytest.raises(CaffeError, match=message.replace("?", r"\?")):
        Calibrator(folder, planned(case(tmp_path)), load_extensions().metrics, (name,))
    assert not folder.path.exists()


# -- what must not count ------------------------------------------------------------------------


def test_refusals_are_left_out_and_counted(tmp_path: Path) -> None:
    async def decline(prompt: str, attempt: int) -> Answer:
        return Answer(REFUSAL, "stop") if of_women(prompt) else await echo(prompt, attempt)

    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})
    chosen = planned(path, behaviour=decline)
    prompts = [
        prompt
        for procedure in chosen[0].procedures
        for pair in procedure.pairs()
        for prompt in pair.prompts
    ]

    (model,) = calibrated(chosen, tmp_path / "out").models

    declined = sum(map(of_women, prompts))
    assert declined > 5
    assert model.declined == 2 * declined
    assert model.comparisons[0].same.pairs == len(prompts) - declined


def test_a_model_that_only_declines_is_never_alike(tmp_path: Path) -> None:
    async def decline(prompt: str, attempt: int) -> Answer:
        return Answer(REFUSAL, "stop")

    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})

    (model,) = calibrated(planned(path, pilot=4, behaviour=decline), tmp_path / "out").models

    assert model.comparisons == ()
    assert model.declined == 32


def test_failed_calls_are_left_out_and_counted(tmp_path: Path) -> None:
    async def fail(prompt: str, attempt: int) -> Answer:
        if of_women(prompt):
            raise ProviderError("filtered", "held back")
        return await echo(prompt, attempt)

    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8})

    (model,) = calibrated(planned(path, behaviour=fail), tmp_path / "out").models

    assert model.missing["filtered"] > 10
    assert model.failure == "filtered: held back"
    assert model.cost.answers == 2 * 2 * 48 - model.missing["filtered"]
    assert model.notes[-1].startswith("what had no answer is left out")


def test_a_model_that_does_not_answer_is_given_up_early(tmp_path: Path) -> None:
    asked = 0

    async def dead(prompt: str, attempt: int) -> Answer:
        nonlocal asked
        asked += 1
        raise ProviderError("unauthorised", "no such key")

    (model,) = calibrated(
        planned(case(tmp_path), answers=5, behaviour=dead), tmp_path / "out"
    ).models

    assert asked < 480
    assert model.empty
    assert model.pools is None
    assert "given up: none of the first 64 calls" in model.notes[0]
    assert "no such key" in model.notes[0]


def test_a_metric_that_breaks_is_named(tmp_path: Path) -> None:
    class Broken:
        def similarity(self, first: Any, second: Any) -> Any:
            raise RuntimeError("out of order")

    def space(*_: object) -> Space:
        return Broken()

    chosen = planned(case(tmp_path), pilot=2)
    metrics = {**load_extensions().metrics, "own": SimilarityMetric("own", "1", space, space)}
    calibrator = Calibrator(RunFolder(tmp_path / "out", "r1"), chosen, metrics, ("own",))
    calibrator.ask(4, lambda settled: None)

    with pytest.raises(CaffeError, match=r"the metric own broke: RuntimeError\('out of order'\)"):
        calibrator.calibrate(0.05)


# -- cost and bytes -----------------------------------------------------------------------------


def cost_of(tmp_path: Path, model: str, **further: Any) -> ModelCalibration:
    async def counted(prompt: str, attempt: int) -> Answer:
        return Answer(
            f"answer to {prompt}", "stop", {"prompt_tokens": 1000, "completion_tokens": 100}
        )

    path = case(tmp_path, {"metric": "lsa", "threshold": 0.8}, models=[{"model": model, **further}])
    chosen = planned(path, pilot=2, behaviour=counted)
    for subject in chosen:
        provider = subject.planned.providers[subject.model.alias]
        assert isinstance(provider, Scripted)
        provider.identity = {"provider": "litellm"}
    return calibrated(chosen, tmp_path / "out").models[0]


def test_the_price_is_that_of_litellms_own_list(tmp_path: Path) -> None:
    spent = cost_of(tmp_path, "openai/gpt-4o-mini").cost

    # 2 bias types x 2 prompt pairs x 2 groups x 2 answers; $0.15 and $0.60 a million tokens
    assert (spent.answers, spent.prompt_tokens, spent.completion_tokens) == (16, 16_000, 1_600)
    assert spent.dollars == pytest.approx(16_000 * 0.15e-6 + 1_600 * 0.6e-6)


@pytest.mark.parametrize(
    ("model", "further"),
    [
        ("openai/nobody-knows-it", {}),
        ("openai/gpt-4o-mini", {"api_base": "http://127.0.0.1:9/v1"}),
    ],
)
def test_a_price_that_is_not_known_is_not_zero(
    tmp_path: Path, model: str, further: dict[str, str]
) -> None:
    calibrated_model = cost_of(tmp_path, model, **further)

    assert calibrated_model.cost.dollars is None
    lines = calibration_lines(
        Calibration(caffe_pytest="1", false_alarms=0.05, models=(calibrated_model,))
    )
    assert any("price unknown" in line for line in lines)


def test_the_same_answers_give_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "out"

    calibrated(planned(case(tmp_path), pilot=4), out, "r1")
    calibrated(planned(case(tmp_path), pilot=4), out, "r2")

    first, second = out / "runs" / "r1", out / "runs" / "r2"
    calls = json.loads((second / "environment.json").read_text(encoding="utf-8"))["calls"]
    assert calls | {"seconds": 0} == {"asked": 0, "answered": 0, "reused": 32, "seconds": 0}
    for name in ("calibration.json", "report/calibration.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    calibration = calibrated(planned(case(tmp_path), pilot=4), tmp_path / "out")

    written = (tmp_path / "out" / "runs" / "r1" / "calibration.json").read_bytes()
    assert Calibration.model_validate_json(written) == calibration
    assert b"NaN" not in written
    assert b"Infinity" not in written
