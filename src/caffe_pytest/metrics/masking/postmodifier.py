"""What stands after the head of a group, in other words: "with disabilities", "who are poor"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caffe_pytest.metrics.masking.english import english
from caffe_pytest.metrics.masking.forms import Form, adjective_forms, anywhere
from caffe_pytest.metrics.masking.group import DETERMINERS, LINKS, RELATIVE_PRONOUNS
from caffe_pytest.metrics.masking.plurals import phrase_inflections, singular
from caffe_pytest.metrics.masking.words import Words, key, keys

_PLACES = ("of", "in", "on", "at", "from")
"""A noun after one of these may be too common to name a group: "in the city"."""
_ARTICLES = ("a", "an", "the")
_AUXILIARIES = ("do", "does", "not", "don't", "doesn't", "can", "cannot", "can't")
_NEGATIONS = (("do", "not"), ("don't",), ("does", "not"), ("doesn't",))
_COPULAS = ("are", "is", "were", "was")
_PARTICLES = ("out", "up", "off", "to")
"""After a verb, they begin no noun phrase: "drop out"."""


@dataclass(frozen=True, slots=True)
class Rewording:
    """A part of a group in other words."""

    phrases: set[Words]
    """What may stand for the whole part, as keys."""
    names: tuple[Form, ...] = ()
    """What of it names the group alone."""


def reword_postmodifier(words: Words) -> Rewording:
    """A postmodifier as it may be worded after a head; nothing where there is none."""
    if not words:
        return Rewording(set())
    if key(words[0]) in RELATIVE_PRONOUNS:
        return _reword_relative_clause(words)
    link = key(words[0])
    noun_phrase = _reword_noun_phrase(words[1:], common_names=link not in _PLACES)
    names = _adjective(words[1:]) if link == "considered" else noun_phrase.names
    determined = _with_determiner(noun_phrase.phrases, DETERMINERS)
    return Rewording({keys(words), *((link, *phrase) for phrase in determined)}, names)


def _reword_relative_clause(words: Words) -> Rewording:
    """ "who use wheelchairs": also "using a wheelchair", "a wheelchair"."""
    whole = keys(words)
    verb = 1
    while verb < len(words) - 1 and whole[verb] in _AUXILIARIES:
        verb += 1
    complement = words[verb + 1 :]
    if len(words) == 1 or whole[verb] in _COPULAS:
        return Rewording({whole}, _adjective(complement) if len(complement) == 1 else ())
    noun_phrase = _reword_noun_phrase(complement, common_names=True)
    objects = _with_determiner(noun_phrase.phrases, _ARTICLES)
    predicates = {
        (form, *rest) for form in _conjugated(whole[verb]) for rest in objects or {keys(complement)}
    }
    phrases = {whole}
    if complement:
        phrases |= predicates
    if verb == 1:
        phrases |= {("who", *predicate) for predicate in predicates}
    else:
        phrases |= {
            ("who", *negation, whole[verb], *rest)
            for negation in _NEGATIONS
            for rest in objects or {()}
        }
    return Rewording(phrases, noun_phrase.names)


def _reword_noun_phrase(words: Words, *, common_names: bool) -> Rewording:
    """A noun phrase in singular and plural, without its determiner.

    Without `common_names` a single ordinary noun in the singular ("city", "color") names no group.
    """
    determiner = words[:1] if words and key(words[0]) in DETERMINERS else ()
    core = words[len(determiner) :]
    if not core or key(core[0]) in LINKS or key(core[0]) in _PARTICLES:
        return Rewording(set())
    inflections = phrase_inflections(core)
    phrases = set(map(keys, inflections))
    in_singular = singular(key(core[-1])) == key(core[-1])
    if not common_names and len(core) == 1 and in_singular and core[0].islower():
        return Rewording(phrases, tuple(anywhere([keys(words)])) if determiner else ())
    return Rewording(phrases, tuple(anywhere(inflections)))


def _adjective(words: Words) -> tuple[Form, ...]:
    return tuple(adjective_forms(keys(words), english().clause_heads))


def _with_determiner(phrases: set[Words], determiners: Iterable[str]) -> set[Words]:
    """The phrases without and with each of the determiners."""
    return phrases | {(one, *phrase) for phrase in phrases for one in determiners}


def _conjugated(verb: str) -> set[str]:
    stem = verb.removesuffix("e")
    third = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")
    return {verb, third, f"{stem}ing", f"{stem}ed"}
