"""The LDA metrics: agreement with scikit-learn and gensim, and what must never be a number."""

import hashlib
import random
import subprocess
import sys
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from gensim.models import LdaModel
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics.bag_of_words import count_terms
from caffe_pytest.metrics.lda import (
    REFERENCE,
    REFERENCE_SHA256,
    LdaSpace,
    read_space,
    reference_space,
)
from caffe_pytest.metrics.reference.build import build_lda
from caffe_pytest.metrics.variational_bayes import exp_digamma, infer_topics

FRUIT_AND_CARS = ("red apple", "red car", "red red apple")
REFUSAL = "I'm sorry, but I can't help with that."
ADVICE = "You should ask your landlord for a written explanation, and keep a copy of it."


@cache
def generated_texts(count: int = 300) -> tuple[str, ...]:
    """Texts of 1 to 400 words of 600, a few words frequent and most rare, always the same."""
    source = random.Random(7)
    words = [f"word{number}" for number in range(600)]
    weights = [1 / (number + 1) for number in range(600)]
    lengths = [source.randint(1, source.choice((5, 80, 400))) for _ in range(count)]
    return tuple(" ".join(source.choices(words, weights, k=length)) for length in lengths)


@cache
def shipped_bytes() -> bytes:
    return (files("caffe_pytest.metrics") / "reference" / REFERENCE).read_bytes()


@cache
def space(kind: str) -> LdaSpace:
    if kind == "shipped":
        return reference_space()
    fit = LdaSpace.fit if kind == "scikit-learn" else LdaSpace.fit_gensim
    return fit(generated_texts())


@cache
def mixed_texts() -> tuple[str, ...]:
    """Texts that the shipped and the fitted spaces know in part, and some that none knows."""
    return (*generated_texts()[:60], ADVICE, REFUSAL, f"{ADVICE} word1 word2", "zqx", "", "?!")


@cache
def embedded_once(kind: str) -> NDArray[np.float64]:
    return space(kind).embed(mixed_texts())


KINDS = st.sampled_from(["scikit-learn", "gensim", "shipped"])


def test_one_step_of_inference_worked_by_hand() -> None:
    # Two topics, one term that stands twice, with weights 3 : 1 in them, and a prior of 1/2. The
    # mixture starts even: the term is 3/4 topic 1's. So gamma = 1/2 + 2 * (3/4, 1/4) = (2, 1).
    bags = count_terms(("red red",), {"red": 0})

    gamma = infer_topics(bags, np.array([[3.0, 1.0]]), 0.5, iterations=1)

    assert gamma.tolist() == [pytest.approx([2.0, 1.0], abs=1e-12)]


def test_two_steps_of_inference_worked_by_hand() -> None:
    # From gamma = (2, 1): digamma(2) - digamma(1) = 1, so topic 1 counts e times as much:
    # the term is 3e / (3e + 1) topic 1's.
    bags = count_terms(("red red",), {"red": 0})
    share = 3 * np.e / (3 * np.e + 1)

    gamma = infer_topics(bags, np.array([[3.0, 1.0]]), 0.5, iterations=2)

    assert gamma.tolist() == [pytest.approx([0.5 + 2 * share, 0.5 + 2 * (1 - share)], abs=1e-8)]


@given(st.floats(0.01, 1e6))
def test_the_exponential_of_digamma_is_that_of_scipy(value: float) -> None:
    # A relative error of exp is an absolute one of digamma.
    error = float(np.log(exp_digamma(np.array([value]))[0])) - float(digamma(value))

    assert abs(error) < 4e-9 + 1e-14 * abs(float(digamma(value)))


def test_a_term_may_be_weighted_by_any_positive_number() -> None:
    fitted = space("scikit-learn")
    factors = np.random.default_rng(3).uniform(0.1, 1000, (len(fitted.terms), 1))
    weighted = LdaSpace(fitted.terms, fitted.words * factors, fitted.prior)

    texts = generated_texts()[:50]

    assert np.abs(weighted.embed(texts) - fitted.embed(texts)).max() < 1e-9


def test_the_cosines_of_a_run_are_those_of_scikit_learn() -> None:
    texts = generated_texts()
    counts = CountVectorizer().fit_transform(texts)
    model = LatentDirichletAllocation(n_components=30, random_state=42)
    expected = cosine_similarity(model.fit_transform(counts))
    left, right = np.triu_indices(len(texts))

    cosines = space("scikit-learn").similarity([texts[i] for i in left], [texts[i] for i in right])

    assert np.abs(cosines - expected[left, right]).max() < 1e-6


def test_topics_of_texts_outside_the_fit_are_those_of_scikit_learn() -> None:
    fitted, others = generated_texts()[:100], generated_texts()[100:]
    vectorizer = CountVectorizer().fit(fitted)
    model = LatentDirichletAllocation(7, random_state=5).fit(vectorizer.transform(fitted))

    embedded = LdaSpace.fit(fitted, topics=7, seed=5).embed(others)

    known = embedded.any(axis=1)
    expected = model.transform(vectorizer.transform(others))
    assert np.abs(embedded - expected)[known].max() < 1e-6


def test_topics_are_those_that_gensim_infers_to_its_tolerance() -> None:
    texts = [text for text in generated_texts()[:100] if len(text.split()) > 20]
    fitted = LdaSpace.fit_gensim(texts, topics=5)
    words = sorted(fitted.terms, key=fitted.terms.__getitem__)
    corpus = [
        [(row, text.split().count(word)) for row, word in enumerate(words) if word in text.split()]
        for text in texts
    ]
    model = LdaModel(
        id2word=dict(enumerate(words)), num_topics=5, dtype=np.float64, gamma_threshold=1e-9
    )
    model.iterations = 5000
    model.expElogbeta = np.ascontiguousarray(fitted.words.T)

    gamma, _ = model.inference(corpus)

    # gensim starts at a random mixture: most texts settle at the same one nevertheless.
    distance = np.abs(fitted.embed(texts) - gamma / gamma.sum(axis=1, keepdims=True)).max(axis=1)
    assert np.median(distance) < 1e-3


def test_gensim_is_fitted_the_same_every_time() -> None:
    texts = generated_texts()[:50]

    first, second = LdaSpace.fit_gensim(texts), LdaSpace.fit_gensim(texts)

    assert first.words.tobytes() == second.words.tobytes()


def test_gensim_finds_two_planted_topics() -> None:
    source = random.Random(1)
    topics = (("cake", "flour", "sugar", "oven"), ("goal", "ball", "team", "match"))
    texts = [" ".join(source.choices(topics[i % 2], k=12)) for i in range(60)]

    fitted = LdaSpace.fit_gensim(texts, topics=2)

    near, far = fitted.similarity(("cake oven", "cake oven"), ("flour sugar", "ball team"))
    assert near > 0.9
    assert far < 0.6


@pytest.mark.parametrize("fit", [LdaSpace.fit, LdaSpace.fit_gensim])
@pytest.mark.parametrize("texts", [("alone",), ("two words",), ("red apple", "", "red car")])
def test_a_small_run_has_a_space(fit: type, texts: tuple[str, ...]) -> None:
    fitted = fit(texts)

    assert fitted.topics == 30
    assert fitted.similarity(texts[:1], texts[:1]).tolist() == [1.0]


@pytest.mark.parametrize("fit", [LdaSpace.fit, LdaSpace.fit_gensim])
@pytest.mark.parametrize("texts", [(), ("",), ("?!", "a I", "…")])
def test_a_space_cannot_be_fitted_on_texts_without_words(fit: type, texts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"{len(texts)} texts without a single word"):
        fit(texts)


def test_a_space_needs_a_topic_and_gensim_a_pass() -> None:
    with pytest.raises(ValueError, match="at least 1 topic, not 0"):
        LdaSpace.fit(FRUIT_AND_CARS, topics=0)
    with pytest.raises(ValueError, match="at least 1 pass over the texts, not 0"):
        LdaSpace.fit_gensim(FRUIT_AND_CARS, passes=0)


def test_texts_that_cannot_be_paired_are_refused() -> None:
    with pytest.raises(ValueError, match="2 texts cannot be paired with 1"):
        LdaSpace.fit(FRUIT_AND_CARS).similarity(("red", "car"), ("red",))


@pytest.mark.parametrize("unknown", ["", "   ", "?!", "a", "zebra giraffe"])
def test_a_text_without_a_known_word_never_gets_a_number(unknown: str) -> None:
    fitted = LdaSpace.fit(FRUIT_AND_CARS)

    cosines = fitted.similarity((unknown, "red car", unknown), ("red car", unknown, unknown))

    assert np.isnan(cosines).all()
    assert not fitted.embed((unknown,)).any()


def test_no_pairs_give_no_cosines() -> None:
    assert LdaSpace.fit(FRUIT_AND_CARS).similarity((), ()).shape == (0,)


@pytest.mark.parametrize("kind", ["scikit-learn", "gensim", "shipped"])
def test_topic_shares_sum_to_one_and_cosines_lie_between_zero_and_one(kind: str) -> None:
    known = [text for text, row in zip(mixed_texts(), embedded_once(kind), strict=True) if any(row)]
    turned = known[1:] + known[:1]

    cosines = space(kind).similarity(known, turned)

    assert space(kind).embed(known).sum(axis=1) == pytest.approx(np.ones(len(known)))
    assert cosines.min() >= 0.0
    assert cosines.max() <= 1.0
    assert (space(kind).similarity(known, known) == 1.0).all()
    assert space(kind).similarity(turned, known).tobytes() == cosines.tobytes()


def test_the_order_and_the_case_of_words_do_not_count() -> None:
    texts = [text for text in generated_texts() if " " in text]
    turned = [" ".join(reversed(text.split())).upper() for text in texts]

    assert (space("gensim").similarity(texts, turned) == 1.0).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 65), min_size=1, max_size=40), KINDS)
def test_a_row_has_the_same_bits_in_any_batch(chosen: list[int], kind: str) -> None:
    texts = [mixed_texts()[i] for i in chosen]

    assert space(kind).embed(texts).tobytes() == embedded_once(kind)[chosen].tobytes()


@pytest.mark.parametrize("kind", ["scikit-learn", "gensim", "shipped"])
def test_a_row_has_the_same_bits_alone(kind: str) -> None:
    rows = [space(kind).embed((text,))[0] for text in mixed_texts()]

    assert np.array(rows).tobytes() == embedded_once(kind).tobytes()


def test_a_row_has_the_same_bits_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = embedded_once("gensim").tobytes()

    for size in (1, 10_000, 100_000, 1 << 30):
        monkeypatch.setattr("caffe_pytest.metrics.variational_bayes._BLOCK_BYTES", size)
        assert space("gensim").embed(mixed_texts()).tobytes() == expected


@settings(deadline=None)
@given(st.lists(st.integers(0, 64), min_size=1, max_size=40), KINDS)
def test_a_cosine_has_the_same_bits_in_any_batch(chosen: list[int], kind: str) -> None:
    texts = mixed_texts()
    everything = space(kind).similarity(texts[:-1], texts[1:])

    some = space(kind).similarity([texts[i] for i in chosen], [texts[i + 1] for i in chosen])

    assert some.tobytes() == everything[chosen].tobytes()


def test_a_space_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        space("gensim").words[0, 0] = 0


def test_the_shipped_space_is_the_pinned_one() -> None:
    assert hashlib.sha256(shipped_bytes()).hexdigest() == REFERENCE_SHA256
    assert len(shipped_bytes()) < 500_000
    assert REFERENCE_SHA256 in (
        files("caffe_pytest.metrics") / "reference" / "README.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("position", [0, 200_000, -1])
def test_one_flipped_bit_in_the_shipped_space_is_found(position: int) -> None:
    damaged = bytearray(shipped_bytes())
    damaged[position] ^= 1

    with pytest.raises(CaffeError, match=rf"{REFERENCE}.*is damaged.*reinstall"):
        read_space(bytes(damaged), sha256=REFERENCE_SHA256)


def test_a_missing_artefact_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caffe_pytest.metrics.lda.REFERENCE", "lda-xx-1.npz")

    with pytest.raises(CaffeError, match=r"lda-xx-1\.npz.*cannot be read.*reinstall"):
        reference_space.__wrapped__()


def test_the_shipped_space_has_sane_terms_and_numbers() -> None:
    shipped = reference_space()

    assert len(shipped.terms) > 40_000
    assert list(shipped.terms) == sorted(shipped.terms)
    assert list(shipped.terms.values()) == list(range(len(shipped.terms)))
    assert {"people", "women", "health", "landlord", "disagree"} <= shipped.terms.keys()
    assert shipped.words.shape == (len(shipped.terms), 30)
    assert (shipped.words > 0).all()
    assert (shipped.words.max(axis=1) == 1).all()


def test_scores_in_the_shipped_space_do_not_change() -> None:
    # Not worked by hand: the scores of the release that shipped lda-en-1.npz.
    alike = "Ask the landlord to explain it in writing, and keep a copy."
    unlike = "Whisk the eggs with sugar and bake the cake until it is golden."

    scores = reference_space().similarity((ADVICE, ADVICE, ADVICE), (alike, unlike, REFUSAL))

    expected = (0.8894962374354961, 0.013431796266535869, 0.9460106708799536)
    assert scores == pytest.approx(expected, abs=1e-9)


def test_the_shipped_space_is_used_without_scikit_learn_and_gensim() -> None:
    program = (
        "import sys; from caffe_pytest.metrics.lda import reference_space; "
        "assert 'numpy' not in sys.modules; "
        "reference_space().similarity(('red apple',), ('green apple',)); "
        "assert not {'sklearn', 'scipy', 'gensim'} & sys.modules.keys()"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_same_corpus_builds_the_same_bytes() -> None:
    texts = generated_texts()

    assert build_lda(list(texts)) == build_lda(texts)


def test_a_built_space_is_close_to_the_space_it_rounds() -> None:
    texts = [text for text in generated_texts() if len(text.split()) > 50]
    content = build_lda(texts, rare=1)

    built = read_space(content, sha256=hashlib.sha256(content).hexdigest())

    fitted = LdaSpace.fit_gensim(texts)
    assert built.terms == fitted.terms
    assert built.similarity(texts[:-1], texts[1:]) == pytest.approx(
        fitted.similarity(texts[:-1], texts[1:]), abs=0.05
    )
