"""Builds the reference spaces of `lsa` and `lda` from WordNet and the State of the Union addresses.

    python -m caffe_pytest.metrics.reference.build --corpus DIRECTORY --out lsa-en-1.npz
    python -m caffe_pytest.metrics.reference.build --space lda --corpus DIRECTORY --out lda-en-1.npz

README.md beside this file says what the directory holds, and why the space is built like this.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from caffe_pytest.metrics.lda import LdaSpace

DIMENSIONS = 300
SEED = 42
RARE = 4
"""A term in fewer documents than this is left out."""
STEP = 0.002
"""Width of a step of the components, in the units of the singular vectors."""
STEPS = (3, 127)
"""Fewest and most steps from 0 to the largest component of a term; an int8 holds 127."""

LOG_STEP = 0.06
"""Width of a step of `words` of an LDA space, in natural logarithms: 255 steps are 1 : 4,000,000,
beyond which a topic has no part in a term."""

PARTS_OF_SPEECH = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
THINGS = frozenset({"05", "06", "13", "15", "17", "20", "25", "27"})
"""Lexicographer files left out: animals, artefacts, food, places, natural objects, plants, shapes,
substances. Their thousands of glosses would take dimensions that answers about people need."""
KIN = frozenset({"@", "@i", "&", "+", "="})
"""Pointers to neighbours in meaning: hypernym, class of an instance, similar, derived, attribute.
"""
PARAGRAPH_WORDS = (100, 160)
"""Sentences are joined until a document of an address has the first number of words; a sentence
that would take it past the second starts the next document."""


@dataclass(frozen=True, slots=True)
class Synset:
    """One meaning of WordNet (see wndb(5WN) for the format of the data files)."""

    key: str
    """Part of speech and offset, e.g. `n00001740`."""
    lexicographer_file: str
    words: str
    gloss: str
    kin: tuple[str, ...]
    """Keys of the neighbours in meaning, in the order of the file."""

    @property
    def text(self) -> str:
        """The words and the gloss with its examples."""
        return f"{self.words} {self.gloss}"


def read_synset(line: str) -> Synset:
    """The synset on one line of a data file."""
    fields, gloss = line.split("|", 1)
    field = fields.split()
    word_count = int(field[3], 16)
    # An adjective may carry its syntactic marker: `galore(ip)`.
    words = [field[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(word_count)]
    pointers = 4 + 2 * word_count
    starts = range(pointers + 1, pointers + 1 + 4 * int(field[pointers]), 4)
    return Synset(
        key=("a" if field[2] == "s" else field[2]) + field[0],
        lexicographer_file=field[1],
        words=" ".join(words),
        gloss=gloss.strip(),
        kin=tuple(field[i + 2] + field[i + 1] for i in starts if field[i] in KIN),
    )


def wordnet_documents(directory: Path) -> list[str]:
    """One document per synset that is not about things: its text and that of its kin."""
    synsets: dict[str, Synset] = {}
    for name in PARTS_OF_SPEECH:
        lines = (directory / f"data.{name}").read_text(encoding="utf-8").splitlines()
        # The licence stands in front, on lines that start with two spaces.
        found = (read_synset(line) for line in lines if not line.startswith("  "))
        synsets.update((synset.key, synset) for synset in found)
    return [
        " ".join([synset.text, *(synsets[key].text for key in synset.kin)])
        for synset in synsets.values()
        if synset.lexicographer_file not in THINGS
    ]


def paragraphs(text: str) -> Iterator[str]:
    """`text` in documents of whole sentences, of about the length of a long answer."""
    fewest, most = PARAGRAPH_WORDS
    paragraph: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        words = sentence.split()
        if paragraph and len(paragraph) + len(words) > most:
            yield " ".join(paragraph)
            paragraph = []
        paragraph += words
        if len(paragraph) >= fewest:
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


def documents(corpus: Path) -> list[str]:
    """All documents of a corpus directory, in an order that does not depend on the file system."""
    addresses = sorted((corpus / "state_of_the_union").glob("*.txt"), key=lambda path: path.name)
    if not addresses:
        raise FileNotFoundError(f"{corpus / 'state_of_the_union'} holds no *.txt")
    spoken = [
        paragraph
        for path in addresses
        for paragraph in paragraphs(path.read_text(encoding="utf-8"))
    ]
    return spoken + wordnet_documents(corpus / "wordnet")


def quantised(components: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(V, k) as whole steps, and (V,) what a step of each row is worth.

    A step is `STEP` wide for every term, so that an embedding is wrong by as little as can be had
    in the space; but a rare term, with components below a step, keeps its direction in 3 of its
    own.
    """
    largest = np.abs(components).max(axis=1)
    steps = np.clip(np.round(largest / STEP), *STEPS)
    scale = (largest / steps).astype(np.float32)
    return np.rint(components / scale[:, None]).astype(np.int8), scale


def archive(arrays: dict[str, NDArray[np.generic]]) -> bytes:
    """The arrays as the bytes of an .npz; numpy's own would carry the time of day."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # else the bytes would depend on the operating system
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            file.writestr(entry, content.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()


def build(texts: Sequence[str]) -> bytes:
    """The bytes of the artefact for a corpus: the same for the same texts and library versions."""
    vectorizer = TfidfVectorizer(min_df=RARE)
    # One thread: several would add up in an order of their own.
    with threadpool_limits(1):
        weights = vectorizer.fit_transform(texts)
        svd = TruncatedSVD(DIMENSIONS, random_state=SEED).fit(weights)
    components, scale = quantised(svd.components_.T)
    return archive(
        {
            "terms": np.frombuffer(
                "\n".join(vectorizer.get_feature_names_out()).encode(), dtype=np.uint8
            ),
            "documents": np.array(len(texts), dtype=np.int64),
            "documents_with_term": np.asarray((weights > 0).sum(axis=0)).ravel().astype(np.int32),
            "components": components,
            "scale": scale,
        }
    )


def build_lda(texts: Sequence[str], *, rare: int = RARE) -> bytes:
    """The bytes of the LDA artefact for a corpus, as `build`.

    Only the ratios of a term's topics count, so the largest becomes 1 and needs no scale.
    """
    space = LdaSpace.fit_gensim(texts, seed=SEED, rare=rare)
    below = np.log(space.words.max(axis=1, keepdims=True) / space.words)
    terms = sorted(space.terms, key=space.terms.__getitem__)
    return archive(
        {
            "terms": np.frombuffer("\n".join(terms).encode(), dtype=np.uint8),
            "step": np.array(LOG_STEP),
            "steps_below_largest": np.minimum(np.rint(below / LOG_STEP), 255).astype(np.uint8),
        }
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the artefact, write it, and say its size and SHA-256."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="directory, see README.md")
    parser.add_argument("--out", type=Path, required=True, help="the .npz to write")
    parser.add_argument("--space", choices=("lsa", "lda"), default="lsa")
    options = parser.parse_args(arguments)
    texts = documents(options.corpus)
    content = build_lda(texts) if options.space == "lda" else build(texts)
    options.out.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    sys.stdout.write(f"{options.out}: {len(content)} bytes, sha256 {digest}\n")


if __name__ == "__main__":
    main()
