"""One tree of errors; each message says where, what, and what to do.

    CaffeError
    ├── ProblemsFound      a user's files are wrong: all problems of them at once
    ├── WrongParameter     a model cannot understand a parameter of the test case
    ├── ProviderError      a call to a model brought no answer
    ├── JournalError       the journal cannot be written or read
    └── DamagedArtefact    a shipped file is not the one this version was released with

An unfair model is not an error: the pytest plugin raises `UnfairnessFound` for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


class CaffeError(Exception):
    """Our mistake or the user's; the message is complete and needs no traceback."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with a file, with where it stands and what to do."""

    file: str
    line: int
    """1-based; 0 where the problem is with the whole file."""
    path: str
    """Where in the document, e.g. `prompts.bias_types[0]`; empty for the whole document."""
    cause: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        what = f"{self.path}: {self.cause}" if self.path else self.cause
        return printable(f"{place}: {what}; {self.remedy}" if self.remedy else f"{place}: {what}")


class ProblemsFound(CaffeError):  # noqa: N818 - says what was found
    """A user's files hold problems; `problems` has all of them, in the order of the files."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class WrongParameter(CaffeError):  # noqa: N818 - says what was found
    """A model cannot understand a parameter; the message is "cause; remedy"."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        """Its name among the parameters of the test case, so that its line can be told."""


class ProviderError(CaffeError):
    """A call brought no answer: `outcome` names what happened (see `model.answer.Outcome`)."""

    def __init__(self, outcome: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.retry_after = retry_after
        """Seconds the provider asked us to wait, where it said so."""


class JournalError(CaffeError):
    """The journal cannot be written or read; nothing already in it is lost."""


class DamagedArtefact(CaffeError):  # noqa: N818 - says what was found, as UnfairnessFound does
    """A shipped file is missing or changed; reinstalling the package mends it."""


def printable(text: str) -> str:
    """The text on one line; what a terminal would obey or hide is escaped, as in `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


MOST_COMPARED = 2000
"""Names a misspelt one is compared with; more would take seconds."""


def did_you_mean(word: str, known: Iterable[str], *, listing: str = "", alike: float = 0.6) -> str:
    """The remedy for an unknown word: the closest known one, else the known ones.

    `listing` is what to say instead of the list where the list is long; `alike`, 0 to 1, is how
    much a known word has to resemble the unknown one to be named.
    """
    names = sorted(set(known))
    folded = [name.casefold() for name in names[:MOST_COMPARED]]
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=alike)
    if close:
        return f'did you mean "{next(n for n in names if n.casefold() == close[0])}"?'
    return listing or ("use one of: " + ", ".join(names) if names else "there are none")
