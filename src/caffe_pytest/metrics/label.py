"""Which label of an intent an answer chooses.

Models seldom answer with the bare label: they write "**Label:** Neutral", "It is not toxic.", or a
paragraph that ends in "Final answer: negative". An answer that names several labels and decides on
none, declines, or is blank, chooses nothing: None, which must never count as agreement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from caffe_pytest.errors import CaffeError
from caffe_pytest.metrics.refusal import is_refusal

NAME = "label"
VERSION = "1"

Words = tuple[str, ...]

_NEGATIONS = frozenset({"not", "no", "never", "neither", "nor", "non", "hardly", "cannot"})
_NO_NEGATION_BEFORE = frozenset({"only", "just", "doubt", "question"})
"""After "not" or "no": "not only positive", "no doubt positive"."""
_DOUBTING = frozenset({"whether", "if"})
"""Words after which a label is not chosen: "I cannot say whether it is toxic"."""
_OPEN = frozenset({"could", "might", "may"})
"""Words that leave the label after them open: "it might be positive, but it is negative"."""
_REACH = 4
"""Words from a negation, or a word that leaves open, to its label: "not a very positive"."""
_INSTEAD = frozenset({("instead", "of"), ("opposed", "to"), ("far", "from")})
_OPPOSING = ("not", "non", "no")
"""Words that make a label of its opposite: "toxic" and "not toxic"."""
_OPPOSING_PREFIXES = ("un", "non", "in", "im", "dis", "ir", "il")

_ANSWER_NOUNS = frozenset({
    "answer", "label", "sentiment", "verdict", "classification", "category", "class", "rating",
    "result", "decision", "conclusion", "prediction", "tone", "judgement", "judgment", "score",
    "choice", "stance", "assessment", "response", "output",
})  # fmt: skip
_CONCLUDING = frozenset({
    "final", "finally", "therefore", "thus", "hence", "so", "overall", "conclusion", "consequently",
    "ultimately", "altogether", "summary", "balance", "boxed",
})  # fmt: skip
_LINKS = frozenset({"is", "was", "be", "as", "are", "remains", "it's", "that's", "this's"})
_BETWEEN = frozenset({
    "a", "an", "the", "clearly", "definitely", "mostly", "overall", "very", "rather", "quite",
    "predominantly", "probably", "likely", "best", "therefore", "simply", "being",
})  # fmt: skip
"""Words that may stand between "is" and the label."""
_EXPLAINING = frozenset({"because", "since", "explanation", "reason", "reasoning", "rationale"})
_JOINING = frozenset({"or", "and", "nor", "vs", "versus", "to"})

_WORD = r"[^\W_]+(?:'[^\W_]+)*"
_NUMBER = r"(?<![^\W_])(?<![.+-])[+-]?\d+(?:[.,]\d+)*(?![^\W_])"
_UNSPACED = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
"""Scripts without a space between words, or before endings: each sign is a word."""
_MARKED = r"[^\W_](?:[^\W_]|[\u0300-\u036f\u064b-\u0652\u0900-\u0dff])*"
"""Words with marks that are no letters: vowel signs."""
_GRADE = r"[^\W_]+[+#-]+(?![^\W_])"
_PLAIN = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2212": "-"})

_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)")
_LONG_QUOTATION = 4
"""Words from which a quotation is the text that was labelled, not a label in quotation marks."""
_THOUGHT = "</think>"
_OUT_OF = re.compile(r"(?<=\d)(?:\s?/\s?|\s+out\s+of\s+)\d+\b")
_CLAUSE_END = re.compile(r"[.,;:!?\n\u3002\uff0c\uff1a\uff1b\u2013\u2014(){}\[\]]|\s-+\s")
_SENTENCE_END = re.compile(r"[.!?\n\u3002]")
_LEADING_SIGN = re.compile(r"[:=>\n\uff1a\u2192]")
_LIST_SIGN = frozenset({",", "/", "|", "&", "\u3001"})
_RANGE_SIGN = frozenset({"-", "\u2013"})
_MARKUP = " \t\"'*`_()[]"


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of an answer, lower case."""

    words: list[str]
    gaps: list[str]
    """What stands before each word, and after the last one, which always ends a line."""

    def ends_clause(self, place: int) -> bool:
        """Whether a clause ends before the word at `place`."""
        return _CLAUSE_END.search(self.gaps[place]) is not None

    def ends_sentence(self, place: int) -> bool:
        """Whether a sentence ends before the word at `place`; a line such as "Answer:" is none."""
        gap = self.gaps[place]
        return _SENTENCE_END.search(gap) is not None and ":" not in gap


@dataclass(frozen=True, slots=True)
class _Mention:
    """A label in an answer: the words from `start` to `end`, the latter excluded."""

    label: str
    start: int
    end: int
    denied: bool = False


def parse(answers: Sequence[str], labels: Sequence[str]) -> list[str | None]:
    """The label that each answer chooses, as it is written in `labels`; None where it does not.

    Case, punctuation, markup and the words around a label do not count. Where an answer names more
    than one label, these decide, in this order: a conclusion ("Final answer: X", "so X"), X as the
    first word of the answer, "label: X" or "the sentiment is X", and "it is X" in a first sentence
    after which no other label is said to be the one. A label that is denied ("not X", "neither X
    nor Y", "rather than X") is not chosen; to deny X is to choose "not X" where that is a label,
    and to deny all of three or more labels but one is to choose that one. A list of labels ("X or
    Y?") chooses none.

    A label depends on nothing but its answer and `labels`. Raises CaffeError where a label is
    blank, or differs from another in case and punctuation only.
    """
    reader = _Reader(labels)
    once = {answer: reader.read(answer) for answer in dict.fromkeys(answers)}
    return [once[answer] for answer in answers]


class _Reader:
    """Reads answers for one list of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._word = _word_pattern(labels)
        self._forms = self._own_forms()
        self._opposite = self._opposites()
        self._forms = self._other_forms() | self._forms
        self._longest = max((len(form) for form in self._forms), default=0)

    def read(self, answer: str) -> str | None:
        """The label `answer` chooses."""
        plain = _plain(answer).rpartition(_THOUGHT)[2]
        text = self._split(plain)
        alone = self._forms.get(tuple(text.words))
        if alone is not None:
            return alone
        plain = _OUT_OF.sub("", plain)
        unquoted = self._split(_QUOTED.sub(_long_quotation_left_out, plain))
        mentions = self._mentions(unquoted)
        if mentions:
            return self._decide(answer, unquoted, mentions)
        text = self._split(plain)
        return self._decide(answer, text, self._mentions(text))

    def _decide(self, answer: str, text: _Text, mentions: list[_Mention]) -> str | None:
        mentions = [self._turned(mention) for mention in _chosen_from(text, mentions)]
        affirmed = [mention for mention in mentions if not mention.denied]
        decided = _concluded(text, affirmed) or _leading(text, mentions) or _named(text, affirmed)
        if decided is not None:
            return decided
        if is_refusal(answer):
            return None
        labels = {mention.label for mention in affirmed}
        if labels:
            return labels.pop() if len(labels) == 1 else _explained(text, affirmed)
        denied = {mention.label for mention in mentions}
        left = [label for label in self.labels if label not in denied]
        return left[0] if len(left) == 1 and len(denied) > 1 else None

    def _turned(self, mention: _Mention) -> _Mention:
        """To deny "toxic" is to choose "not toxic"."""
        opposite = self._opposite.get(mention.label) if mention.denied else None
        return mention if opposite is None else replace(mention, label=opposite, denied=False)

    def _split(self, plain: str) -> _Text:
        words, gaps, end = [], [], 0
        for match in self._word.finditer(plain):
            words.append(match[0].removeprefix("+") or match[0])
            gaps.append(plain[end : match.start()])
            end = match.end()
        return _Text(words, [*gaps, plain[end:] + "\n"])

    def _mentions(self, text: _Text) -> list[_Mention]:
        """The labels in `text`, at each place the longest, and whether they are denied."""
        mentions: list[_Mention] = []
        place = 0
        while place < len(text.words):
            mention = self._mention_at(text, place)
            if mention is None:
                place += 1
                continue
            last = mentions[-1] if mentions else None
            mentions.append(replace(mention, denied=_is_denied(text, mention, last)))
            place = mention.end
        return mentions

    def _mention_at(self, text: _Text, place: int) -> _Mention | None:
        for end in range(min(len(text.words), place + self._longest), place, -1):
            words = tuple(text.words[place:end])
            label = self._forms.get(words)
            # "There is no reason to" does not answer "no".
            if label is not None and (words != ("no",) or text.ends_clause(end)):
                return _Mention(label, place, end)
        return None

    def _own_forms(self) -> dict[Words, str]:
        forms: dict[Words, str] = {}
        for label in self.labels:
            words = tuple(self._split(_plain(label)).words)
            if not words:
                raise CaffeError(f"the label {label!r} is blank; give it a word")
            if forms.setdefault(words, label) != label or self.labels.count(label) > 1:
                raise CaffeError(
                    f"the labels {forms[words]!r} and {label!r} cannot be told apart; give labels "
                    "that differ in more than case and punctuation"
                )
        return forms

    def _opposites(self) -> dict[str, str]:
        """Of "toxic" "not toxic", and back; of "fair" "unfair" where there are no other labels."""
        pairs = [
            (self._forms[words[1:]], label)
            for words, label in self._forms.items()
            if words[0] in _OPPOSING and words[1:] in self._forms
        ]
        pairs += [
            (self._forms[words], self._forms[(prefix + words[0],)])
            for words in self._forms
            for prefix in _OPPOSING_PREFIXES
            if len(self.labels) == 2 and len(words) == 1 and (prefix + words[0],) in self._forms
        ]
        return dict(pairs) | {second: first for first, second in pairs}

    def _other_forms(self) -> dict[Words, str]:
        """What else labels are called: "non-toxic" for "not toxic", "approved" for "approve"."""
        forms: dict[Words, str] = {}
        for words, label in self._forms.items():
            if words[0] in _OPPOSING and len(words) > 1:
                forms |= {(opposing, *words[1:]): label for opposing in _OPPOSING}
                forms["non" + words[1], *words[2:]] = label
            elif len(words) == 1 and len(words[0]) > 3 and words[0].isascii():
                forms[(_past(words[0]),)] = label
        return forms


def _plain(text: str) -> str:
    # Twice: a compatible form of a folded letter may have a case of its own.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.translate(_PLAIN)


def _past(verb: str) -> str:
    if verb.endswith("y"):
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


def _word_pattern(labels: Sequence[str]) -> re.Pattern[str]:
    """A word; "A+" is one where labels end in such a sign, and so is a sign that is a label."""
    plain = [_plain(label).strip() for label in labels]
    signs = {sign for label in plain if not re.search(r"[^\W_]", label) for sign in label}
    graded = any(re.search(r"[^\W_][+#-]$", label) for label in plain)
    marked = any(unicodedata.category(sign) in {"Mn", "Mc"} for label in plain for sign in label)
    parts = [
        *([_GRADE] if graded else []),
        _NUMBER,
        _UNSPACED,
        _MARKED if marked else _WORD,
        *(re.escape(sign) for sign in sorted(signs - {" "})),
    ]
    return re.compile("|".join(parts))


def _long_quotation_left_out(quotation: re.Match[str]) -> str:
    return quotation[0] if len(quotation[0].split()) < _LONG_QUOTATION else '"\u2026"'


def _is_denied(text: _Text, mention: _Mention, last: _Mention | None) -> bool:
    """Whether "not X", "rather than X", or "neither Y nor X", where `last` is Y."""
    earliest = last.end if last else 0
    joined = mention.start - earliest == 1 and text.words[earliest] in {"or", "nor"}
    if last and last.denied and joined:
        return True
    if _comes_after(text, mention, last, _is_negation):
        return True
    before = text.words[max(earliest, mention.start - _REACH) : mention.start]
    while before and before[-1] in _BETWEEN:
        before.pop()
    return before[-1:] == ["than"] or tuple(before[-2:]) in _INSTEAD


def _is_negation(text: _Text, place: int) -> bool:
    word = text.words[place]
    following = text.words[place + 1] if place + 1 < len(text.words) else ""
    negates = word in _NEGATIONS or word.endswith("n't")
    return negates and following not in _NO_NEGATION_BEFORE


def _is_doubt(text: _Text, place: int) -> bool:
    return text.words[place] in _DOUBTING


def _is_open(text: _Text, place: int) -> bool:
    return text.words[place] in _OPEN


def _comes_after(
    text: _Text,
    mention: _Mention,
    last: _Mention | None,
    condition: Callable[[_Text, int], bool],
) -> bool:
    """Whether a word for which `condition` holds stands shortly before, in the same clause."""
    earliest = max(last.end if last else 0, mention.start - _REACH)
    for place in range(mention.start - 1, earliest - 1, -1):
        if text.ends_clause(place + 1):
            return False
        if condition(text, place):
            return True
    return False


def _chosen_from(text: _Text, mentions: list[_Mention]) -> list[_Mention]:
    """`mentions` outside questions, doubts and lists; those left open if there are no others."""
    listed = {
        index
        for place, (first, second) in enumerate(pairwise(mentions))
        if _are_listed(text, first, second)
        for index in (place, place + 1)
    }
    asked = _in_questions(text)
    kept = [
        mention
        for place, (last, mention) in enumerate(zip([None, *mentions], mentions, strict=False))
        if place not in listed
        and not asked[mention.start]
        and not _comes_after(text, mention, last, _is_doubt)
    ]
    settled = [
        mention
        for last, mention in zip([None, *kept], kept, strict=False)
        if not _comes_after(text, mention, last, _is_open)
    ]
    return settled or kept


def _are_listed(text: _Text, first: _Mention, second: _Mention) -> bool:
    """Whether two labels are named side by side: "X or Y", "X, Y", "X/Y"."""
    if first.denied or second.denied or first.label == second.label:
        return False
    between = text.words[first.end : second.start]
    gaps = text.gaps[first.end : second.start + 1]
    if not between:
        return gaps[0].strip(_MARKUP) in _LIST_SIGN or gaps[0] in _RANGE_SIGN
    one_sentence = not any(_SENTENCE_END.search(gap) for gap in gaps)
    return one_sentence and all(word in _JOINING for word in between)


def _in_questions(text: _Text) -> list[bool]:
    """Whether each word stands in a sentence that ends in a question mark."""
    asked, question = [False] * len(text.words), False
    for place in range(len(text.words) - 1, -1, -1):
        end = _SENTENCE_END.search(text.gaps[place + 1])
        if end is not None:
            question = end[0] == "?"
        asked[place] = question
    return asked


def _concluded(text: _Text, affirmed: list[_Mention]) -> str | None:
    """The last label after "final answer", "therefore", or "so" at the start of a clause."""
    found = None
    for last, mention in zip([None, *affirmed], affirmed, strict=False):
        earliest = last.end if last else 0
        for place in range(mention.start - 1, earliest - 1, -1):
            if text.ends_sentence(place + 1) and text.words[place] not in _ANSWER_NOUNS:
                break
            if text.words[place] in _CONCLUDING and _concludes(text, place):
                found = mention.label
                break
    return found


def _concludes(text: _Text, place: int) -> bool:
    """Whether the word is not the "so" of "so positive"."""
    return text.words[place] != "so" or place == 0 or text.ends_clause(place)


def _leading(text: _Text, mentions: list[_Mention]) -> str | None:
    """The label that is the first word, or the first before a noun such as "sentiment"."""
    first = mentions[0] if mentions else None
    if first is None or first.start > 0 or first.denied:
        return None
    if _heads_a_list(text, mentions):
        return None
    noun_follows = first.end < len(text.words) and text.words[first.end] in _ANSWER_NOUNS
    return first.label if noun_follows or text.ends_clause(first.end) else None


def _heads_a_list(text: _Text, mentions: list[_Mention]) -> bool:
    """Whether different labels are headings: "Positive: the food. Negative: the service."."""
    headings = {mention.label for mention in mentions if ":" in text.gaps[mention.end]}
    return len(headings) > 1


def _named(text: _Text, affirmed: list[_Mention]) -> str | None:
    """The one label that is said to be the answer, the label, the sentiment, ..."""
    named = set()
    for last, mention in zip([None, *affirmed], affirmed, strict=False):
        earliest = last.end if last else 0
        for place in range(mention.start - 1, earliest - 1, -1):
            if place + 1 < mention.start and text.ends_sentence(place + 1):
                break
            if text.words[place] in _ANSWER_NOUNS and _is_linked(text, mention):
                named.add(mention.label)
                break
    return named.pop() if len(named) == 1 else None


def _is_linked(text: _Text, mention: _Mention) -> bool:
    """Whether "is", a colon or the like leads to the label."""
    for place in range(mention.start, max(0, mention.start - _REACH), -1):
        if _LEADING_SIGN.search(text.gaps[place]) or text.words[place - 1] in _LINKS:
            return True
        if text.words[place - 1] not in _BETWEEN:
            return False
    return False


def _explained(text: _Text, affirmed: list[_Mention]) -> str | None:
    """The label of a first sentence, "it is X", if later ones do not say "it is Y"."""
    first = affirmed[0]
    end = next(
        (
            place
            for place in range(first.end, len(text.words))
            if text.ends_sentence(place) or text.words[place] in _EXPLAINING
        ),
        len(text.words),
    )
    others = [mention for mention in affirmed if mention.label != first.label]
    settled = all(other.start >= end and not _is_linked(text, other) for other in others)
    return first.label if settled and _is_linked(text, first) else None
