"""What is wrong with the forms of groups that a base gives for masking."""

from __future__ import annotations

from collections.abc import Iterator

from caffe_pytest.errors import did_you_mean
from caffe_pytest.knowledge.finding import Fault, Finding
from caffe_pytest.knowledge.grammar import (
    gender,
    head_noun,
    head_place,
    is_plural,
    plural,
    possessives,
    words,
)
from caffe_pytest.knowledge.groups import PAIR
from caffe_pytest.knowledge.load import ReadBase
from caffe_pytest.model.triple import Group

MOST_COMPARED = 20
"""Groups without a row for which one of a similar name is looked for."""


def form_findings(read: ReadBase, *, english: bool) -> Iterator[Finding]:
    """Findings about the groups of a base that gives forms of groups; none of any other."""
    if read.forms is None:
        return
    source, within = read.forms
    yield from _without_forms(read)
    used = {group for triple in read.base.triples for group in _groups_of(triple)}
    unused = 0
    for name, group in read.base.groups.items():
        faults = list(_faults(name, group)) if english else []
        if name not in used:
            unused += 1
            # to compare a name with thousands takes long
            compared = used if unused <= MOST_COMPARED else ()
            remedy = did_you_mean(name, compared, listing="remove it, or write a row", alike=0.8)
            faults.append(("", Fault("unused-forms", f'no row names the group "{name}"', remedy)))
        for key, fault in faults:
            place = (*within, name, key) if key else (*within, name)
            problem = source.problem(place, fault.cause, fault.remedy)
            yield Finding(
                problem.file, problem.line, problem.path, fault.kind, fault.cause, fault.remedy
            )
    yield from _swallowed(read)


def _groups_of(triple: object) -> Iterator[str]:
    for side in PAIR:
        yield getattr(triple, side)


def _without_forms(read: ReadBase) -> Iterator[Finding]:
    told: set[str] = set()
    for place, triple in zip(read.places, read.base.triples, strict=True):
        for side in PAIR:
            name: str = getattr(triple, side)
            if triple.valid and name not in read.base.groups and name not in told:
                told.add(name)
                cause = f'"{name}" has no forms, and other groups have'
                remedy = f"add `{name}: {{singular: ...}}` to the groups of the base"
                yield Finding(*place, side, "group-without-forms", cause, remedy)


def _faults(name: str, group: Group) -> Iterator[tuple[str, Fault]]:
    """By English rules; each with the key of the form."""
    if group.singular is not None:
        yield from _singular(name, group.singular)
    if group.possessive is not None:
        written = group.possessive.replace("\u2019", "'")
        right = [form.replace("\u2019", "'").casefold() for form in possessives(name)]
        if written.casefold() not in right:
            cause = f'"{group.possessive}" is no possessive of "{name}"'
            remedy = f'write "{possessives(name)[0]}"'
            yield "possessive", Fault("form-possessive", cause, remedy)
    said = gender(name)
    if group.pronouns not in ("they", said):
        of_whom = f"of {said}" if said else "of no one gender"
        cause = f'the pronoun "{group.pronouns}" does not fit "{name}", who are spoken {of_whom}'
        remedy = f'write "{said}", or "they"' if said else 'write "they"'
        yield "pronouns", Fault("form-gender", cause, remedy)


def _singular(name: str, singular: str) -> Iterator[tuple[str, Fault]]:
    first = singular.split(maxsplit=1)[0].casefold()
    if first in ("a", "an", "the"):
        cause, remedy = f'"{singular}" has an article', "write it without"
        yield "singular", Fault("form-singular", cause, remedy)
        return
    # where the name has its head: "living" in "person living alone" looks like a noun
    many, one = head_noun(name), "".join(words(singular)[head_place(name) :][:1])
    if many and is_plural(many) and plural(one) != many.casefold():
        cause = f'"{singular}" is no singular of "{name}": the plural of "{one}" is "{plural(one)}"'
        remedy = "correct one of the two"
        yield "singular", Fault("form-singular", cause, remedy)


def _swallowed(read: ReadBase) -> Iterator[Finding]:
    """Forms of one group that name the other group of a row: masking cannot tell the two apart."""
    seen: set[tuple[str, str]] = set()
    for place, triple in zip(read.places, read.base.triples, strict=True):
        pair = triple.disadvantaged, triple.advantaged
        if not triple.valid or pair in seen:
            continue
        seen.add(pair)
        for side, own, other in ((PAIR[0], *pair), (PAIR[1], *reversed(pair))):
            names = _folded(other, *_own_forms(read.base.groups.get(other)))
            for form in read.base.forms(own):
                if form.casefold() in names:
                    cause = f'"{form}" is a form of "{own}", and names "{other}"'
                    remedy = f'remove it from the forms of "{own}"'
                    yield Finding(*place, side, "alias-of-other-group", cause, remedy)
        shared = _folded(*_aliases(read, pair[0])) & _folded(*_aliases(read, pair[1]))
        for form in sorted(shared):
            cause = f'"{form}" is an alias of "{pair[0]}" and of "{pair[1]}"'
            remedy = "remove it where it tells nothing of either: it is masked"
            yield Finding(*place, "", "shared-alias", cause, remedy)


def _aliases(read: ReadBase, name: str) -> tuple[str, ...]:
    return read.base.groups[name].aliases if name in read.base.groups else ()


def _own_forms(group: Group | None) -> Iterator[str]:
    """What names a group for certain."""
    if group is not None:
        yield from filter(None, (group.singular, group.possessive))


def _folded(*forms: str) -> set[str]:
    return {form.casefold() for form in forms}
