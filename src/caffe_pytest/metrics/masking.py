"""Answers with the names of the compared groups masked.

Two answers of a pair repeat the group they were asked about; a difference that is only the name
of the group says nothing of fairness. So every mention of either group gives way to one
placeholder before the answers are compared.

The rules are those of English: plurals, possessives, pronouns, the heads "people", "person",
"women", and the other names of common social groups in `group_forms.yaml`. Of a base in another
language only the groups and aliases as they stand are masked reliably. Groups are written as
within a sentence: a word with a capital ("Muslim", "Kenyan") is taken for a name and masked
wherever it stands; a word without ("poor", "fat") is an ordinary adjective, masked only before a
word for persons ("poor families", not "poor results").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from caffe_pytest.errors import DamagedArtefact

VERSION = "1"

PLACEHOLDER = "___"
"""Stands for a mention. No metric knows it as a word, and `\\w+` counts it as one."""
MOST_LOST = 0.30
"""Share of its words that an answer may lose before its score is flagged."""
FORMS = "group_forms.yaml"
"""File name of the shipped forms, in the package `caffe_pytest.metrics`."""

Words = tuple[str, ...]

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no space between words, or none before a particle: each sign is a word."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0900-\u0963\u0980-\u0dff\u0f71-\u0fbc\u200c\u200d"
)
"""Signs inside a word that are no `\\w` by themselves: accents set apart, vowel signs, joiners."""
_LETTER = rf"[^\W_{_UNSPACED}]"
_APOSTROPHE = "['\u2018\u2019\u02bc]"
_SUFFIX = rf"{_APOSTROPHE}(?i:s|d|ll|re|ve)(?!{_LETTER})"
_WORD = re.compile(
    rf"[{_UNSPACED}]"
    rf"|({_LETTER}++(?:[{_MARKS}]{_LETTER}*+|(?!{_SUFFIX}){_APOSTROPHE}{_LETTER}++)*+)(?:{_SUFFIX})?"
)
"""A word; its group is the word without a possessive or contracted ending ("she's": "she")."""
_BETWEEN = re.compile(r"\s*+(?:[-\u2010\u2011]\s*+)?|\.")
"""What may stand between the words of a phrase; the full stop is that of "U.S."."""
_BESIDE = re.compile(r"[ \t\u00a0]*+[-\u2010\u2011]?")
_NO_NOUN_FOLLOWS = re.compile(r"[\s*]*+(?:[^\w\s*-]|\Z)")
_STRAIGHT = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which no group is named."""

    text: str
    masked: tuple[str, ...]
    """What was masked, as it stood, each spelling once, in order of first appearance."""
    lost: float
    """Share of the words of the text that were masked, 0..1; 0 for a text without words."""

    @property
    def flagged(self) -> bool:
        """Whether more than `MOST_LOST` of the words are gone: a score then says little."""
        return self.lost > MOST_LOST


def mask(texts: Sequence[str], groups: Sequence[str], aliases: Sequence[str] = ()) -> list[Masked]:
    """Each text with the mentions of all `groups` and `aliases` replaced by `PLACEHOLDER`.

    Pronouns of the third person are masked whatever the groups are; words for women and men
    ("mother", "brotherly") only where the groups differ in gender. What all groups share is kept:
    "men" of "gay men" and "straight men" goes only together with "gay" or "straight". The longest
    mention wins, mentions side by side become one placeholder, and "a" or "an" before a mention
    goes with it, because the group may have decided between the two. A group, alias or part of
    one in capitals alone ("US") is found in capitals alone.

    A single group shares nothing, so its head and the words for gender are masked. The order and
    repetition of groups and aliases do not count. Masking a masked text changes nothing. Takes
    time linear in the length of a text.

        >>> mask(["Women often do more, so thank a woman."], ["women", "men"])[0].text
        '___ often do more, so thank ___.'

    Raises DamagedArtefact where the shipped forms cannot be read.
    """
    masker = _masker(tuple(sorted(set(groups))), tuple(sorted(set(aliases))))
    return [masker.mask(text) for text in texts]


class _Stands(IntEnum):
    """Where a form has to stand to be a mention, the freest first."""

    ANYWHERE = 0
    PRONOUN = 1
    BEFORE_PERSON = 2
    AS_NOUN = 3


Form = tuple[Words, _Stands]


@dataclass(slots=True)
class _Node:
    """A place in the tree of forms; the words on the way to it are a form if `stands` is set."""

    following: dict[str, _Node] = field(default_factory=dict)
    stands: _Stands | None = None

    def add(self, words: Words, stands: _Stands) -> None:
        node = self
        for word in words:
            node = node.following.setdefault(word, _Node())
        if words and (node.stands is None or stands < node.stands):
            node.stands = stands


class _Text:
    """A text cut into words."""

    __slots__ = ("keys", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(_WORD.finditer(text))
        self.keys = [_key(word[1] or word[0]) for word in self.words]

    def spellings(self, index: int) -> Words:
        """The keys that word `index` has in the tree of forms: in any case, and as it stands."""
        key, word = self.keys[index], self.words[index]
        spelled = word[1] or word[0]
        return (key,) if key == spelled else (key, spelled)

    def joined(self, index: int, gap: re.Pattern[str] = _BETWEEN) -> bool:
        """Whether there is a word after word `index` with only `gap` between the two."""
        if index + 1 >= len(self.words):
            return False
        start, end = self.words[index].end(), self.words[index + 1].start()
        return gap.fullmatch(self.text, start, end) is not None

    def has_ending(self, index: int) -> bool:
        """Whether word `index` is a possessive or contraction."""
        return self.words[index].end(1) not in (-1, self.words[index].end())

    def end(self, first: int, last: int) -> int:
        """Where the mention of words `first`..`last` ends, after the apostrophe of "workers'"."""
        start, end = self.words[first].start(), self.words[last].end()
        quoted = re.match(_APOSTROPHE, self.text[start - 1 : start])
        if not quoted and re.match(f"[sS]{_APOSTROPHE}", self.text[end - 1 : end + 1]):
            return end + 1
        return end


@dataclass(frozen=True, slots=True)
class _Masker:
    """The forms of some groups, and how they are found."""

    root: _Node
    starts: frozenset[str]
    """Keys of the words that a form begins with."""
    persons: frozenset[str]
    """A common adjective names a group before one of these."""
    heads: frozenset[str]
    """Masked together with the word before them that names a group."""

    def mask(self, text: str) -> Masked:
        cut = _Text(text)
        parts: list[str] = []
        found: dict[str, None] = {}
        copied = free = lost = 0
        merges = False
        for index, key in enumerate(cut.keys):
            if index < free or key not in self.starts:
                continue
            mention = self._mention(cut, index)
            if mention is None:
                continue
            after, stands = mention
            end, named = cut.end(index, after - 1), stands is not _Stands.PRONOUN
            found.setdefault(text[cut.words[index].start() : end])
            first = index
            if (
                named
                and index > free
                and cut.keys[index - 1] in ("a", "an")
                and cut.joined(index - 1)
            ):
                first = index - 1
            if not (named and merges and first == free and cut.joined(first - 1, _BESIDE)):
                parts += text[copied : cut.words[first].start()], PLACEHOLDER
            copied, free, merges = end, after, named
            lost += after - first
        parts.append(text[copied:])
        return Masked("".join(parts), tuple(found), lost / len(cut.words) if lost else 0.0)

    def _mention(self, cut: _Text, index: int) -> tuple[int, _Stands] | None:
        """The longest mention from word `index` on: the word after it, and how it stands."""
        longest, nodes = None, [self.root]
        for last in range(index, len(cut.words)):
            nodes = [
                node.following[word]
                for node in nodes
                for word in cut.spellings(last)
                if word in node.following
            ]
            for node in nodes:
                after = self._after(cut, last, node.stands)
                if after and node.stands is not None:
                    longest = after, node.stands
            if not nodes or not cut.joined(last):
                break
        return longest

    def _after(self, cut: _Text, last: int, stands: _Stands | None) -> int:
        """The word after a form that ends in word `last`; 0 where the form is no mention there."""
        if stands is None:
            return 0
        if stands is _Stands.PRONOUN:
            return last + 1
        follows = cut.keys[last + 1] if cut.joined(last) and not cut.has_ending(last) else ""
        if stands is _Stands.AS_NOUN:
            ended = _NO_NOUN_FOLLOWS.match(cut.text, cut.words[last].end())
            return last + 1 if ended or follows in _english().after_collective else 0
        if stands is _Stands.BEFORE_PERSON and follows not in self.persons:
            return 0
        return last + 1 + (follows in self.heads)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group in its parts: "older women with low incomes"."""

    words: Words
    """All of it, as it stands."""
    modifiers: tuple[Words, ...]
    """("older",): each word, or the words of a hyphenated one."""
    head: str
    """"women"; empty in "the unemployed", whose adjective is a modifier."""
    after: Words
    """("with", "low", "incomes")."""


@lru_cache(maxsize=1024)
def _masker(groups: tuple[str, ...], aliases: tuple[str, ...]) -> _Masker:
    english = _english()
    parsed = [group for group in map(_parsed, groups) if group.words]
    heads = {form for group in parsed if group.head for form in _inflected(group.head)}
    root = _Node()
    for words, stands in _forms(parsed, aliases):
        root.add(words, stands)
    return _Masker(
        root,
        starts=frozenset(map(_key, root.following)),
        persons=english.person_nouns | heads,
        heads=english.general_heads | heads,
    )


def _forms(groups: Sequence[_Group], aliases: Iterable[str]) -> Iterator[Form]:
    english = _english()
    yield from (((pronoun,), _Stands.PRONOUN) for pronoun in english.pronouns)
    for alias in aliases:
        yield from _anywhere(_inflections(_spelled(alias)))
    shared = _shared(groups)
    for group in groups:
        yield _keys(group.words), _Stands.ANYWHERE
        yield from _phrases(group, shared)
        yield from _names(group, shared)
    genders = {english.genders(group.words) for group in groups}
    if (len(genders) > 1 or len(groups) == 1) and any(genders):
        yield from english.gendered


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all of several groups have in common, and what therefore tells none of them."""

    modifiers: frozenset[Words]
    head: bool
    after: bool


def _shared(groups: Sequence[_Group]) -> _Shared:
    if len(groups) < 2:
        return _Shared(frozenset(), head=False, after=False)
    return _Shared(
        frozenset.intersection(*(frozenset(group.modifiers) for group in groups)),
        head=len({frozenset(_inflected(group.head)) for group in groups}) == 1,
        after=len({_keys(group.after) for group in groups}) == 1,
    )


_PREPOSITIONS = ("with", "without", "of", "in", "from", "on", "at", "by", "under", "over", "for")
_LINKS = frozenset((*_PREPOSITIONS, "who", "whose", "that", "which"))
_ARTICLES = ("the", "a", "an", "any", "some")


def _parsed(group: str) -> _Group:
    """The group cut before its first preposition, relative pronoun or participle."""
    english = _english()
    units = [unit for unit in map(_spelled, group.split()) if unit]
    words = tuple(word for unit in units for word in unit)
    definite = bool(units) and _keys(units[0]) == ("the",)
    units = units[definite:]
    cut = next(
        (
            place
            for place in range(1, len(units))
            if _key(units[place][0]) in _LINKS
            or (
                _key(units[place - 1][-1]) in english.person_nouns
                and _key(units[place][0]).endswith(("ing", "ed", "born"))
                and len(units[place]) == 1
            )
        ),
        len(units),
    )
    before, after = units[:cut], tuple(word for unit in units[cut:] for word in unit)
    if not before:
        return _Group(words, (), "", ())
    *modifiers, last = before
    if definite and not after and _singular(_key(last[-1])) == _key(last[-1]):
        return _Group(words, tuple(before), "", ())
    if len(last) > 1:  # "shop-owners"
        modifiers.append(last[:-1])
    return _Group(words, tuple(modifiers), last[-1], after)


def _phrases(group: _Group, shared: _Shared) -> Iterator[Form]:
    """The group with other heads and in the other number: "a person with a disability"."""
    english = _english()
    modifiers = _keys(word for unit in group.modifiers for word in unit)
    own = _inflected(group.head) if group.head else set()
    after, parts = _after_forms(group.after)
    neutral = _key(group.head) in english.neutral_heads
    if not neutral and (not (modifiers or after) or not (shared.head or _in_compound(group))):
        yield from _anywhere((head,) for head in own)
    for words in after:
        for head in own | english.general_heads | english.stand_ins:
            yield (head, *words), _Stands.ANYWHERE
        for head in own:
            yield (*modifiers, head, *words), _Stands.ANYWHERE
    if after and not shared.after:
        yield from _anywhere(after)
        yield from parts
    if modifiers and not set(group.modifiers) <= shared.modifiers:
        yield from _anywhere((*modifiers, head) for head in own | english.general_heads)
        if len(modifiers) > 1:
            yield modifiers, _Stands.ANYWHERE


def _names(group: _Group, shared: _Shared) -> Iterator[Form]:
    """The words of the group that name it alone, and the other names of what it names."""
    english = _english()
    kept = {_key(word) for unit in shared.modifiers for word in unit}
    if shared.head:
        kept |= _inflected(group.head)
    if shared.after:
        kept |= set(_keys(group.after))
    named: set[str] = set()
    for words, forms in english.named_in(_keys(group.words)):
        if not kept.issuperset(words):
            named.update(words)
            yield from forms
    for unit in group.modifiers:
        if unit in shared.modifiers or named.issuperset(_keys(unit)) or unit[0] in _DEGREES:
            continue
        if len(unit) > 1:
            yield _keys(unit), _Stands.ANYWHERE
        elif unit[0] != unit[0].lower():
            yield from _anywhere(_inflections(unit))
        else:
            yield from _adjective_forms(unit, english.clause_heads)


_DEGREES = ("less", "more", "very", "most", "least", "so", "too")


def _in_compound(group: _Group) -> bool:
    """Whether the head is the end of a proper name: "Americans" of "Native Americans"."""
    named = _english().named_in(_keys(group.words))
    return group.head[:1].isupper() and any(
        len(words) > 1 and _key(group.head) == words[-1] for words, _ in named
    )


_AUXILIARIES = ("do", "does", "not", "don't", "doesn't", "can", "cannot", "can't")
_NEGATIONS = (("do", "not"), ("don't",), ("does", "not"), ("doesn't",))
_COPULAS = ("are", "is", "were", "was")


def _after_forms(after: Words) -> tuple[set[Words], list[Form]]:
    """The forms of what stands after a head, and the parts of it that name the group alone."""
    if not after:
        return set(), []
    link = _key(after[0])
    if link not in ("who", "that", "which"):
        cores, parts = _complement(after[1:], always=link not in ("of", "in", "on", "at", "from"))
        if link == "considered":
            parts = list(_adjective_forms(_keys(after[1:]), _english().clause_heads))
        articles: tuple[Words, ...] = ((), *((article,) for article in _ARTICLES))
        return {
            _keys(after),
            *((link, *article, *core) for core in cores for article in articles),
        }, parts
    start = 1
    while start < len(after) - 1 and _key(after[start]) in _AUXILIARIES:
        start += 1
    return _clause_forms(_keys(after[:start]), _keys(after)[start : start + 1], after[start + 1 :])


def _clause_forms(relative: Words, verb: Words, complement: Words) -> tuple[set[Words], list[Form]]:
    """The forms of "who use wheelchairs": "using a wheelchair", "wheelchair"."""
    whole = {(*relative, *verb, *_keys(complement))}
    if verb and verb[0] in _COPULAS:
        adjective = len(complement) == 1
        return whole, list(
            _adjective_forms(_keys(complement), _english().clause_heads)
        ) if adjective else []
    cores, parts = _complement(complement, always=True)
    objects = {(*article, *core) for core in cores for article in ((), ("a",), ("an",), ("the",))}
    verbs = {form for word in verb for form in _conjugated(word)}
    plain = {(form, *rest) for form in verbs for rest in objects or {_keys(complement)}}
    clauses = {("who", *words) for words in plain} if len(relative) == 1 else set()
    if len(relative) > 1:
        clauses = {
            ("who", *negation, *verb, *rest) for negation in _NEGATIONS for rest in objects or {()}
        }
    return whole | clauses | (plain if complement else set()), parts


def _conjugated(verb: str) -> set[str]:
    stem = verb.removesuffix("e")
    third = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")
    return {verb, third, f"{stem}ing", f"{stem}ed"}


def _complement(words: Words, *, always: bool) -> tuple[set[Words], list[Form]]:
    """A noun phrase in singular and plural; and the same as names of the group.

    A single ordinary noun in the singular ("city", "color") is such a name only if `always`.
    """
    articles = words[:1] if words and _key(words[0]) in _ARTICLES else ()
    core = words[len(articles) :]
    if not core or _key(core[0]) in _LINKS or _key(core[0]) in ("out", "up", "off", "to"):
        return set(), []
    cores = {_keys(form) for form in _inflections(core)}
    plural = _singular(_key(core[-1])) != _key(core[-1])
    if not always and len(core) == 1 and not plural and core[0].islower():
        return cores, list(_anywhere([(_key(articles[0]), _key(core[0]))])) if articles else []
    return cores, list(_anywhere(_inflections(core)))


def _anywhere(forms: Iterable[Words]) -> Iterator[Form]:
    return ((words, _Stands.ANYWHERE) for words in forms)


def _key(word: str) -> str:
    """The word as it is compared: without case, curly apostrophes and decomposed accents."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFC", word.translate(_STRAIGHT)).casefold()


def _keys(words: Iterable[str]) -> Words:
    return tuple(map(_key, words))


def _spelled(phrase: str) -> Words:
    """The words of a phrase as they stand, without possessive endings."""
    return tuple(word[1] or word[0] for word in _WORD.finditer(phrase))


def _inflected(noun: str) -> set[str]:
    """Keys of a noun in singular and plural."""
    return {word for (word,) in map(_keys, _inflections((noun,)))}


def _inflections(phrase: Words) -> set[Words]:
    """A phrase with its last word in singular and plural, as keys; capitals alone stay so."""
    if not phrase:
        return set()
    start = tuple(word if _in_capitals(word) else _key(word) for word in phrase[:-1])
    last = _key(phrase[-1])
    if _in_capitals(phrase[-1]):
        return {(*start, phrase[-1])}
    one = _singular(last)
    return {(*start, word) for word in (last, one, _plural(one))}


def _in_capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()


@dataclass(frozen=True, slots=True)
class _English:
    """The shipped forms; words are keys."""

    pronouns: frozenset[str]
    general_heads: frozenset[str]
    neutral_heads: frozenset[str]
    """The general heads that name no gender: never masked alone."""
    stand_ins: frozenset[str]
    person_nouns: frozenset[str]
    clause_heads: frozenset[str]
    """Before "who are poor"."""
    after_collective: frozenset[str]
    gendered: tuple[Form, ...]
    gender_of: Mapping[str, str]
    """A word for women or men -> its gender."""
    names: Mapping[Words, tuple[Form, ...]]
    """A name of a group -> all forms of the groups that have it."""

    def genders(self, words: Words) -> frozenset[str]:
        """The genders that the words name."""
        keys = _keys(words)
        return frozenset(self.gender_of[key] for key in keys if key in self.gender_of)

    def named_in(self, keys: Words) -> list[tuple[Words, tuple[Form, ...]]]:
        """The known names in a group, longest first from the left, with all their forms."""
        found, start = [], 0
        while start < len(keys):
            for end in range(min(len(keys), start + _LONGEST_NAME), start, -1):
                if keys[start:end] in self.names:
                    found.append((keys[start:end], self.names[keys[start:end]]))
                    start = end
                    break
            else:
                start += 1
        return found


_LONGEST_NAME = 5


def _adjective_forms(adjective: Words, heads: Iterable[str]) -> Iterator[Form]:
    """The adjective before a word for persons, and in "people who are poor"."""
    yield adjective, _Stands.BEFORE_PERSON
    yield ("being", *adjective), _Stands.ANYWHERE
    yield from _qualified((("who", "are", *adjective), ("who", "is", *adjective)), heads)


def _plural(noun: str) -> str:
    """The plural of a singular, by rule where it is not irregular."""
    plurals, _ = _irregular()
    if noun in plurals:
        return plurals[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return noun[:-1] + "ies"
    return noun + "s"


def _singular(noun: str) -> str:
    """The singular of a plural, by rule where it is not irregular; a singular as it is."""
    _, singulars = _irregular()
    if noun in singulars:
        return singulars[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "shes", "ches", "xes", "zes")):
        return noun[:-2]
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) and len(noun) > 2:
        return noun[:-1]
    return noun


@cache
def _irregular() -> tuple[dict[str, str], dict[str, str]]:
    """Irregular nouns: singular -> plural, and plural -> singular."""
    plurals = dict(pair.split() for pair in _listed(_shipped()["irregular"]))
    return plurals, {many: one for one, many in plurals.items()}


@cache
def _english() -> _English:
    shipped = _shipped()
    genders = {gender: _entry_forms(entry) for gender, entry in shipped["gender"].items()}
    gender_of = {words[0].lower(): name for name in genders for words, _ in genders[name]}
    general = _nouns(shipped["general_heads"])
    stand_ins = frozenset(_listed(shipped["stand_ins"]))
    return _English(
        pronouns=frozenset(_listed(shipped["pronouns"])),
        general_heads=general,
        neutral_heads=general - gender_of.keys(),
        stand_ins=stand_ins,
        person_nouns=_nouns(shipped["person_nouns"]) | general,
        clause_heads=(general - gender_of.keys()) | stand_ins,
        after_collective=frozenset(_listed(shipped["after_collective"])),
        gendered=tuple(form for forms in genders.values() for form in forms),
        gender_of=gender_of,
        names=_group_names(shipped),
    )


def _nouns(listed: str) -> frozenset[str]:
    return frozenset(key for noun in _listed(listed) for key in _inflected(noun))


def _group_names(shipped: Mapping[str, Any]) -> dict[Words, tuple[Form, ...]]:
    nations = [
        {"nouns": people, "words": country, "origins": country}
        for country, people in shipped["nations"].items()
    ]
    names: dict[Words, dict[Form, None]] = {}
    for entry in [*nations, *shipped["sets"]]:
        forms = dict.fromkeys(_entry_forms(entry))
        for words, stands in list(forms):
            # "who are poor" is made of "poor", which is enough to name the group
            if not {"who", "being", "with", "from"} & set(words):
                start = 1 if stands is _Stands.AS_NOUN else 0
                names.setdefault(_keys(words[start:]), {}).update(forms)
    return {words: tuple(forms) for words, forms in names.items()}


def _entry_forms(entry: Mapping[str, str]) -> list[Form]:
    """The forms of an entry of the shipped forms, with how each has to stand."""
    forms: list[Form] = []
    for noun in _listed(entry.get("nouns", "")):
        forms += _anywhere({_cased(noun)} if _has_case(noun) else _inflections(_spelled(noun)))
    forms += _anywhere(_cased(form) for form in _listed(entry.get("words", "")))
    shipped = _shipped()
    heads = _nouns(shipped["general_heads"]) - {"man", "men", "woman", "women", "guy", "guys"}
    heads |= frozenset(_listed(shipped["stand_ins"]))
    for adjective in _listed(entry.get("adjectives", "")):
        forms += _adjective_forms(_cased(adjective), heads)
    for condition in _listed(entry.get("conditions", "")):
        cased = {_cased(condition)} if _has_case(condition) else _inflections(_spelled(condition))
        forms += _anywhere(cased)
        for article in ((), ("a",), ("an",)):
            forms += _qualified({("with", *article, *words) for words in cased}, heads)
    for country in _listed(entry.get("origins", "")):
        forms += _qualified({("from", *_cased(country))}, heads)
    for adjective in _listed(entry.get("collectives", "")):
        forms.append((("the", *_cased(adjective)), _Stands.AS_NOUN))
    return forms


def _qualified(qualifiers: Iterable[Words], heads: Iterable[str]) -> Iterator[Form]:
    """What stands after a head, as in "people with a disability", without and with the head."""
    for words in qualifiers:
        yield words, _Stands.ANYWHERE
        yield from _anywhere((head, *words) for head in heads)


def _has_case(form: str) -> bool:
    return form in _listed(_shipped()["case_matters"])


def _cased(form: str) -> Words:
    """The words of a shipped form, as keys unless its capitals matter."""
    words = _spelled(form)
    return words if _has_case(form) else _keys(words)


def _listed(forms: str) -> list[str]:
    return [form for form in map(str.strip, forms.split(",")) if form]


@cache
def _shipped() -> dict[str, Any]:
    import yaml

    try:
        content = (files("caffe_pytest.metrics") / FORMS).read_text(encoding="utf-8")
        shipped = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise DamagedArtefact(
            f"{FORMS}: cannot be read ({' '.join(str(error).split())}); reinstall caffe-pytest"
        ) from error
    if not isinstance(shipped, dict):
        raise DamagedArtefact(f"{FORMS}: is damaged; reinstall caffe-pytest")
    return shipped
