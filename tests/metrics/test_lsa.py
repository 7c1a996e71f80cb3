"""The LSA metric: worked numbers, agreement with scikit-learn, and what must never be a number."""

import hashlib
import io
import random
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics.lsa import (
    REFERENCE,
    REFERENCE_SHA256,
    LsaSpace,
    read_space,
    reference_space,
)
from caffe_pytest.metrics.reference.build import build, documents, paragraphs, read_synset

FRUIT_AND_CARS = ("red apple", "red car", "red red apple")
REFUSAL = "I'm sorry, but I can't help with that."
ADVICE = "You should ask your landlord for a written explanation, and keep a copy of it."


@cache
def generated_texts(count: int = 300) -> tuple[str, ...]:
    """Texts of 1 to 80 words of 600, a few words frequent and most rare, always the same."""
    source = random.Random(7)
    words = [f"word{number}" for number in range(600)]
    weights = [1 / (number + 1) for number in range(600)]
    return tuple(
        " ".join(source.choices(words, weights, k=source.randint(1, 80))) for _ in range(count)
    )


@cache
def shipped_bytes() -> bytes:
    return (files("caffe_pytest.metrics") / "reference" / REFERENCE).read_bytes()


def test_idf_is_the_smoothed_one_worked_by_hand() -> None:
    space = LsaSpace.fit(FRUIT_AND_CARS)

    # 3 texts; "red" is in 3, "apple" in 2, "car" in 1: ln(4/4)+1, ln(4/3)+1, ln(4/2)+1
    expected = {"red": 1.0, "apple": 1.2876820724517808, "car": 1.6931471805599454}
    assert {term: space.idf[row] for term, row in space.terms.items()} == pytest.approx(expected)


def test_a_space_of_full_rank_keeps_the_cosines_of_tf_idf_worked_by_hand() -> None:
    # tf-idf before its length is made 1, as (red, apple, car):
    #   red apple      (1, 1.287682, 0)    squared length 1 + 1.658125 = 2.658125
    #   red car        (1, 0, 1.693147)    squared length 1 + 2.866747 = 3.866747
    #   red red apple  (2, 1.287682, 0)    squared length 4 + 1.658125 = 5.658125
    # 1st and 2nd: 1 / sqrt(2.658125 * 3.866747)                       = 0.311917
    # 1st and 3rd: (2 + 1.658125) / sqrt(2.658125 * 5.658125)          = 0.943267
    # 2nd and 3rd: 2 / sqrt(3.866747 * 5.658125)                       = 0.427583
    first, second, third = FRUIT_AND_CARS

    cosines = LsaSpace.fit(FRUIT_AND_CARS).similarity(
        (first, first, second), (second, third, third)
    )

    assert cosines == pytest.approx((0.311917, 0.943267, 0.427583), abs=1e-6)


def test_texts_that_share_no_word_have_a_cosine_of_zero_at_full_rank() -> None:
    space = LsaSpace.fit(("red apple", "blue car"))

    assert space.similarity(("red apple",), ("blue car",)) == pytest.approx((0.0,), abs=1e-12)


def test_the_cosines_of_a_run_are_those_of_scikit_learn() -> None:
    texts = generated_texts()
    weights = TfidfVectorizer().fit_transform(texts)
    expected = cosine_similarity(TruncatedSVD(100, random_state=42).fit_transform(weights))
    left, right = np.triu_indices(len(texts))

    cosines = LsaSpace.fit(texts).similarity([texts[i] for i in left], [texts[i] for i in right])

    assert np.abs(cosines - expected[left, right]).max() < 1e-6


def test_embeddings_of_texts_outside_the_fit_are_those_of_scikit_learn() -> None:
    fitted, others = generated_texts()[:200], generated_texts()[200:]
    vectorizer = TfidfVectorizer().fit(fitted)
    svd = TruncatedSVD(20, random_state=5).fit(vectorizer.transform(fitted))

    embedded = LsaSpace.fit(fitted, dimensions=20, seed=5).embed(others)

    assert np.abs(embedded - svd.transform(vectorizer.transform(others))).max() < 1e-9


def test_words_are_those_of_scikit_learn() -> None:
    text = "Don't PANIC: naïve Ünïcode, e-mail & C3PO; a I 42 7 snake_case ΑΒΓ İstanbul 東京 straße"

    assert sorted(LsaSpace.fit((text, "panic again")).terms) == sorted(
        TfidfVectorizer().fit((text, "panic again")).vocabulary_
    )


@pytest.mark.parametrize(
    ("texts", "dimensions"),
    [
        (("alone",), 1),
        (("alone", "alone"), 1),
        (("two words",), 1),
        (("red apple", "red car"), 2),
        (("red apple", "red car", "blue car", "blue apple pie"), 4),
    ],
)
def test_a_small_run_gets_as_many_dimensions_as_it_has(
    texts: tuple[str, ...], dimensions: int
) -> None:
    space = LsaSpace.fit(texts)

    assert space.dimensions == dimensions
    assert space.similarity(texts, texts).tolist() == [1.0] * len(texts)


@pytest.mark.parametrize("texts", [(), ("",), ("?!", "a I", "…")])
def test_a_space_cannot_be_fitted_on_texts_without_words(texts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"{len(texts)} texts without a single word"):
        LsaSpace.fit(texts)


def test_a_space_needs_a_dimension() -> None:
    with pytest.raises(ValueError, match="at least 1 dimension, not 0"):
        LsaSpace.fit(FRUIT_AND_CARS, dimensions=0)


def test_texts_that_cannot_be_paired_are_refused() -> None:
    with pytest.raises(ValueError, match="2 texts cannot be paired with 1"):
        LsaSpace.fit(FRUIT_AND_CARS).similarity(("red", "car"), ("red",))


@pytest.mark.parametrize("unknown", ["", "   ", "?!", "a", "zebra giraffe"])
def test_a_text_without_a_known_word_never_gets_a_number(unknown: str) -> None:
    space = LsaSpace.fit(FRUIT_AND_CARS)

    cosines = space.similarity((unknown, "red car", unknown), ("red car", unknown, unknown))

    assert np.isnan(cosines).all()
    assert not space.embed((unknown,)).any()


def test_a_text_that_the_kept_dimensions_do_not_hold_never_gets_a_number() -> None:
    space = LsaSpace.fit(("red apple",) * 20 + ("zebra giraffe",), dimensions=1)

    cosines = space.similarity(("zebra", "red"), ("red", "zebra giraffe"))

    assert np.isnan(cosines).all()


def test_unknown_words_beside_known_ones_do_not_count() -> None:
    space = LsaSpace.fit(FRUIT_AND_CARS)

    assert space.similarity(("red zebra car",), ("car red",)).tolist() == [1.0]


def test_no_pairs_give_no_cosines() -> None:
    assert LsaSpace.fit(FRUIT_AND_CARS).similarity((), ()).shape == (0,)


def test_identical_texts_give_exactly_one() -> None:
    texts = generated_texts()

    assert (LsaSpace.fit(texts, dimensions=10).similarity(texts, texts) == 1.0).all()
    assert reference_space().similarity((REFUSAL, ADVICE), (REFUSAL, ADVICE)).tolist() == [1, 1]


def test_the_order_and_the_case_of_words_do_not_count() -> None:
    texts = [text for text in generated_texts() if " " in text]
    turned = [" ".join(reversed(text.split())).upper() for text in texts]
    space = LsaSpace.fit(texts)

    assert (space.embed(texts) == space.embed(turned)).all()
    assert (space.similarity(texts, turned) == 1.0).all()


def test_the_order_of_the_two_texts_does_not_count() -> None:
    texts = generated_texts()
    space = LsaSpace.fit(texts)

    there, back = space.similarity(texts[:-1], texts[1:]), space.similarity(texts[1:], texts[:-1])

    assert there.tobytes() == back.tobytes()


def test_cosines_lie_between_minus_one_and_one() -> None:
    texts = generated_texts()
    cosines = LsaSpace.fit(texts, dimensions=2).similarity(texts * 50, (texts[1:] + texts[:1]) * 50)

    assert cosines.min() >= -1.0
    assert cosines.max() <= 1.0


@settings(deadline=None)
@given(st.lists(st.integers(0, 299), min_size=1, max_size=40), st.booleans())
def test_a_row_has_the_same_bits_in_any_batch(chosen: list[int], shipped: bool) -> None:
    space, rows = embedded_once(shipped)
    texts = [generated_texts()[i] for i in chosen]

    assert space.embed(texts).tobytes() == rows[chosen].tobytes()


@given(st.lists(st.integers(0, 298), min_size=1, max_size=40))
def test_a_cosine_has_the_same_bits_in_any_batch(chosen: list[int]) -> None:
    space, _ = embedded_once(False)
    texts = generated_texts()
    everything = space.similarity(texts[:-1], texts[1:])

    some = space.similarity([texts[i] for i in chosen], [texts[i + 1] for i in chosen])

    assert some.tobytes() == everything[chosen].tobytes()


@cache
def embedded_once(shipped: bool) -> tuple[LsaSpace, NDArray[np.float64]]:
    space = reference_space() if shipped else LsaSpace.fit(generated_texts(), dimensions=30)
    return space, space.embed(generated_texts())


def test_a_space_cannot_be_changed() -> None:
    space = LsaSpace.fit(FRUIT_AND_CARS)

    with pytest.raises(ValueError, match="read-only"):
        space.components[0, 0] = 0


def test_the_shipped_space_is_the_pinned_one() -> None:
    assert hashlib.sha256(shipped_bytes()).hexdigest() == REFERENCE_SHA256
    assert len(shipped_bytes()) < 5_000_000
    assert REFERENCE_SHA256 in (
        files("caffe_pytest.metrics") / "reference" / "README.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("position", [0, 1_000_000, -1])
def test_one_flipped_bit_in_the_shipped_space_is_found(position: int) -> None:
    damaged = bytearray(shipped_bytes())
    damaged[position] ^= 1

    with pytest.raises(CaffeError, match=rf"{REFERENCE}.*is damaged.*reinstall"):
        read_space(bytes(damaged), sha256=REFERENCE_SHA256)


def test_a_missing_artefact_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caffe_pytest.metrics.lsa.REFERENCE", "lsa-xx-1.npz")

    with pytest.raises(CaffeError, match=r"lsa-xx-1\.npz.*cannot be read.*reinstall"):
        reference_space.__wrapped__()


def test_the_shipped_space_has_sane_terms_and_numbers() -> None:
    space = reference_space()

    assert len(space.terms) > 40_000
    assert list(space.terms) == sorted(space.terms)
    assert list(space.terms.values()) == list(range(len(space.terms)))
    everyday = {
        "the",
        "should",
        "people",
        "women",
        "men",
        "health",
        "landlord",
        "disagree",
        "sorry",
    }
    assert everyday <= space.terms.keys()
    assert space.idf[space.terms["the"]] < 1.5
    assert space.idf[space.terms["landlord"]] > 5
    assert space.idf.shape == space.scale.shape == (len(space.terms),)
    assert space.components.shape == (len(space.terms), 300)
    assert (space.scale > 0).all()
    assert space.components.any(axis=1).all()


def test_the_shipped_space_tells_advice_alike_from_advice_unlike() -> None:
    alike = "Ask the landlord to explain it in writing, and keep a copy."
    unlike = "Whisk the eggs with sugar and bake the cake until it is golden."

    near, far, refused = reference_space().similarity(
        (ADVICE, ADVICE, ADVICE), (alike, unlike, REFUSAL)
    )

    assert near > 0.4
    assert far < 0.3
    assert refused < 0.1


def test_scores_in_the_shipped_space_do_not_change() -> None:
    # Not worked by hand: the scores of the release that shipped lsa-en-1.npz.
    pairs = reference_space().similarity((ADVICE, REFUSAL), (REFUSAL, "I cannot help you."))

    assert pairs == pytest.approx((-0.03276374500908159, 0.24986492210877587), abs=1e-12)


def test_the_shipped_space_is_used_without_scikit_learn() -> None:
    program = (
        "import sys; from caffe_pytest.metrics.lsa import reference_space; "
        "assert 'numpy' not in sys.modules; "
        "reference_space().similarity(('red apple',), ('green apple',)); "
        "assert not {'sklearn', 'scipy'} & sys.modules.keys()"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_same_corpus_builds_the_same_bytes() -> None:
    texts = generated_texts(700)
    content = build(texts)

    assert build(list(texts)) == content
    assert np.load(io.BytesIO(content), allow_pickle=False)["components"].dtype == np.int8


def test_a_built_space_is_close_to_the_space_it_rounds() -> None:
    texts = generated_texts(700)
    content = build(texts)
    space = read_space(content, sha256=hashlib.sha256(content).hexdigest())
    vectorizer = TfidfVectorizer(min_df=4)
    weights = vectorizer.fit_transform(texts)
    svd = TruncatedSVD(300, random_state=42).fit(weights)

    assert space.terms == vectorizer.vocabulary_
    assert space.idf == pytest.approx(vectorizer.idf_)
    assert np.abs(space.embed(texts) - svd.transform(weights)).max() < 0.01


def test_a_synset_gives_its_words_its_gloss_and_its_kin() -> None:
    line = (
        "00002956 00 s 02 abducting 0 well-off(p) 0 002 & 00002730 a 0000 ! 00003131 a 0101 "
        '| drawing away; "the abducting muscle"  '
    )

    synset = read_synset(line)

    assert synset.key == "a00002956"
    assert synset.lexicographer_file == "00"
    assert synset.text == 'abducting well-off drawing away; "the abducting muscle"'
    assert synset.kin == ("a00002730",)


def test_an_address_is_cut_between_sentences() -> None:
    sentence = "We must do more for " + "very " * 34 + "old people."

    assert [len(text.split()) for text in paragraphs(f"{sentence} " * 7)] == [123, 123, 41]


def test_a_corpus_without_addresses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="state_of_the_union"):
        documents(tmp_path)
