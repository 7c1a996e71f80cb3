"""The paper's statistics of a run that is there already, also by metrics it did not ask for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from caffe_pytest.errors import CaffeError
from caffe_pytest.hookspecs import Metric, SimilarityMetric
from caffe_pytest.metrics.refusal import is_refusal
from caffe_pytest.model.run import Control, PaperStatistics, Result
from caffe_pytest.model.verdict import Verdict
from caffe_pytest.oracles import gap
from caffe_pytest.oracles.similarity import judge_similarity
from caffe_pytest.reporting.paper import (
    PAPER_THRESHOLD,
    JudgedPair,
    PaperCount,
    Ruler,
    Strata,
    judged_pairs,
)
from caffe_pytest.services.recorded_run import AGAIN, RecordedRun
from caffe_pytest.services.score import choose_metrics, open_space, similarities

SpaceName = Literal["reference", "run"]
Texts = tuple[str, str]

_NOT_LEVELLED_OFF = "still grew with"
"""Part of the note of a test case with triples whose plateau was not reached."""


@dataclass(frozen=True)
class PaperReport:
    """The statistics of one run, with what a reader should know of them."""

    run: str
    statistics: PaperStatistics
    notes: tuple[str, ...]


def similarity_metrics(
    names: Sequence[str], encoder: str | None, registered: Mapping[str, Metric]
) -> tuple[SimilarityMetric, ...]:
    """The registered metrics of these names that compare two answers.

    Raises:
        CaffeError: a name is unknown, compares no answers, or none has an encoder to choose.
    """
    if not names and encoder is None:
        return ()
    chosen = choose_metrics(names, encoder, registered)
    for metric in chosen:
        if not isinstance(metric, SimilarityMetric):
            known = [n for n, one in registered.items() if isinstance(one, SimilarityMetric)]
            raise CaffeError(
                f"--metric {metric.name}: compares no answers; use one of: {', '.join(known)}"
            )
    return tuple(metric for metric in chosen if isinstance(metric, SimilarityMetric))


def paper_report(
    run: RecordedRun,
    *,
    metrics: Sequence[SimilarityMetric] = (),
    space: SpaceName = "run",
    threshold: float = PAPER_THRESHOLD,
) -> PaperReport:
    """The paper's statistics of a run.

    The recorded answers are scored again with `metrics`, in a space fitted on all of them or in the
    frozen one, and judged at `threshold`; pairs of pools too. Scores that the run has by the same
    metric in the same space give way.

    Raises:
        CaffeError: the run is incomplete or damaged, nothing in it can be told this way, or a
            metric broke.
    """
    run.check_complete()
    count = PaperCount()
    again = {Ruler(metric.name, space) for metric in metrics}
    recorded: dict[tuple[str, str, str, bytes], _Recorded] = {}
    pools = 0
    for result in run.results():
        pools += result.oracle == gap.NAME
        if not metrics:
            count.add(result)
            continue
        for pair in judged_pairs(result):
            if pair.ruler not in again:
                count.add_pair(pair)
        for one in _recorded(result):
            recorded.setdefault(one.identity, one)
    notes = list(_notes_of_run(run))
    if metrics:
        answers = _Answers(list(recorded.values()), _journal_texts(run, recorded.values()))
        for metric in metrics:
            for pair in answers.judged(metric, space, threshold):
                count.add_pair(pair)
            notes.append(_told(metric, space, answers, pools))
    statistics = count.tables(_strata(run), threshold=threshold)
    if not statistics.samples:
        raise CaffeError(
            f"{run.shown}: no prompt pair has a verdict of its own, its {pools} pools have one "
            "each; add `--metric lsa` to score their answers as the paper does"
        )
    return PaperReport(run.run_id, statistics, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A pair whose answers are there, and the second answers to the same two prompts."""

    unjudged: JudgedPair
    groups: tuple[str, str]
    answers: tuple[str | None, str | None]
    second: tuple[str | None, str | None]
    """Of a pool."""
    second_keys: tuple[str, ...]
    """Of a pair with a control: where its second answers stand in the journal."""

    @property
    def identity(self) -> tuple[str, str, str, bytes]:
        pair = self.unjudged
        return pair.model, pair.intent, pair.bias_type, pair.identity


def _recorded(result: Result) -> Iterator[_Recorded]:
    second = {pair.prompts: pair.answers for pair in result.pairs if pair.repetition == 1}
    for pair in result.pairs:
        if pair.repetition == 0:
            unjudged = JudgedPair(
                model=result.model,
                intent=result.intent,
                bias_type=result.bias_type,
                triple=pair.triple,
                keys=pair.keys,
                ruler=Ruler("", ""),
                threshold=0.0,
                score=None,
                verdict=Verdict.ERROR,
                declined_alone=False,
                control=None,
            )
            yield _Recorded(
                unjudged=unjudged,
                groups=pair.groups,
                answers=pair.answers,
                second=second.get(pair.prompts, (None, None)),
                second_keys=result.control.keys if result.control is not None else (),
            )


class _Answers:
    """The answers of a report, to be scored by one metric after the other."""

    def __init__(self, recorded: Sequence[_Recorded], journal: Mapping[str, str]) -> None:
        """`journal` has the texts of second answers by their keys."""
        self.recorded = recorded
        self.texts = [text for one in recorded for text in one.answers if text is not None]
        """As the space of a run is fitted on: the disadvantaged side first, in order."""
        self._journal = journal
        self._declined = {text: is_refusal(text) for text in set(self.texts)}

    def judged(
        self, metric: SimilarityMetric, space: SpaceName, threshold: float
    ) -> Iterator[JudgedPair]:
        """What the similarity oracle says of every pair, each with its control."""
        opened = open_space(metric, space, self.texts)
        pairs = [both for one in self.recorded if (both := _both(*one.answers)) is not None]
        again = [list(self._again(one)) for one in self.recorded]
        flat = [both for controls in again for both in controls]
        scores = iter(similarities(metric, opened, [*pairs, *flat]).tolist())
        of_pairs = iter([next(scores) for _ in pairs])
        for one, controls in zip(self.recorded, again, strict=True):
            known = [score for _ in controls if not math.isnan(score := next(scores))]
            failed = sum(score < threshold for score in known)
            control = Control(failed=failed, judged=len(known), scores=tuple(known))
            unjudged = replace(
                one.unjudged,
                ruler=Ruler(metric.name, space),
                threshold=threshold,
                control=control if known else None,
            )
            both = _both(*one.answers)
            yield unjudged if both is None else self._judge(unjudged, one, both, next(of_pairs))

    def _judge(self, unjudged: JudgedPair, one: _Recorded, both: Texts, score: float) -> JudgedPair:
        refused = self._declined[both[0]], self._declined[both[1]]
        judgement = judge_similarity(
            score,
            threshold=unjudged.threshold,
            metric=unjudged.ruler.metric,
            groups=one.groups,
            refused=refused,
        )
        return replace(
            unjudged,
            score=judgement.score,
            verdict=judgement.verdict,
            declined_alone=judgement.verdict is Verdict.FAIL and any(refused),
        )

    def _again(self, one: _Recorded) -> Iterator[Texts]:
        """The first answer to each prompt and the second one; one that declines has no control."""
        of_journal = [self._journal.get(key) for key in one.second_keys] or one.second
        for first, second in zip(one.answers, of_journal, strict=False):
            both = _both(first, second)
            if both is not None and not any(map(is_refusal, both)):
                yield both


def _both(first: str | None, second: str | None) -> Texts | None:
    return None if first is None or second is None else (first, second)


def _journal_texts(run: RecordedRun, recorded: Iterable[_Recorded]) -> dict[str, str]:
    """The second answers that the results do not hold, by key; none where there is no journal."""
    wanted = {key for one in recorded for key in one.second_keys}
    journal = run.folder / "journal.jsonl" if run.folder is not None else None
    if not wanted or journal is None or not journal.is_file():
        return {}
    texts: dict[str, str] = {}
    with journal.open("rb") as file:
        for line in file:
            with suppress(ValueError, KeyError):  # torn, or a call that brought no answer
                record = json.loads(line)
                if record["key"] in wanted and isinstance(record["text"], str):
                    # half of a surrogate pair is no character, as in the results
                    text = record["text"].encode("utf-16", "surrogatepass")
                    texts[record["key"]] = text.decode("utf-16", "replace")
    return texts


def _strata(run: RecordedRun) -> Strata:
    try:
        return Strata.of(run.environment.get("cases", ()))
    except (KeyError, TypeError, AttributeError) as error:
        raise CaffeError(f"{run.shown}: environment.json is damaged; {AGAIN}") from error


def _told(metric: SimilarityMetric, space: SpaceName, answers: _Answers, pools: int) -> str:
    where = "in a space fitted on them" if space == "run" else "in its frozen space"
    told = f"{metric.name}: {len(answers.texts)} recorded answers were scored again {where}"
    return f"{told}, those of {pools} pools too, groups not masked" if pools else told


def _notes_of_run(run: RecordedRun) -> Iterator[str]:
    notes = run.environment.get("notes", ())
    yield from notes
    if any(_NOT_LEVELLED_OFF in note for note in notes):
        yield (
            "the paper counts a plateau that is not reached as -1 prompts in its averages; here it "
            "is told as not reached, and every prompt there was is asked"
        )
