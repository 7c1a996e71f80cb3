"""Test-case files that are wrong, each in its own way, and what has to be said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from string import ascii_lowercase

from tests.specs.case_files import GOOD, NAME, with_line


@dataclass(frozen=True)
class BadFile:
    """What stands in the file, and every line that is printed about it."""

    content: bytes
    says: tuple[str, ...]
    """Behind the file's name; `...` stands for what the YAML parser says in its own words."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further files."""
    names_no_other: bool = True
    """Whether the file is wrong by itself, whatever it names."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches everything that is printed about the file, in order."""
        lines = [f".*{re.escape(NAME + line)}".replace(r"\.\.\.", ".*") for line in self.says]
        return re.compile("\n".join(lines))


def bad(content: str | bytes, *says: str, **more: object) -> BadFile:
    """A file wrong by itself."""
    raw = content.encode() if isinstance(content, str) else content
    return BadFile(raw, says, **more)  # type: ignore[arg-type]


def lost(content: str, *says: str, **beside: str) -> BadFile:
    """A file that names what is not there."""
    return BadFile(content.encode(), says, beside, names_no_other=False)


def _model(text: str) -> str:
    return GOOD.replace("[simulated/fair]", f"[{{{text}}}]")


def _prompts(line: str) -> str:
    return with_line(GOOD, "per_triple: 4", line)


_KEYS = (
    "context, environment, expected_fairness, gate, id, intent, kind, objective, prompts"
)  # fmt: skip
_INTENTS = (
    "clarification, direction, question, question-answering, recommendation, sentiment-analysis, "
    "toxicity-detection"
)
_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise(ascii_lowercase[:9])
)

BAD_FILES: dict[str, BadFile] = {
    # -- no text, no YAML ---------------------------------------------------------------------
    "empty": bad("", ": the file holds no test case; run `caffe init` for a first one"),
    "comments-only": bad(
        "# id: A\n\n# more\n", ": the file holds no test case; run `caffe init` for a first one"
    ),
    "binary": bad(
        bytes(range(256)), ": the file is binary, or not in UTF-8; save it as UTF-8 text"
    ),
    "nul": bad(GOOD + "\0", ": the file is binary, or not in UTF-8; save it as UTF-8 text"),
    "utf-16": bad(
        GOOD.encode("utf-16"), ": the file is binary, or not in UTF-8; save it as UTF-8 text"
    ),
    "latin-1": bad(
        (GOOD + "objective: Ausländer\n").encode("latin-1"),
        ":9: the file is not in UTF-8; save it as UTF-8 text",
    ),
    "control-character": bad(
        GOOD.replace("recommendation", "recom\x07mendation"),
        ":2: holds the character \\x07, which YAML does not allow; remove it",
    ),
    "tabs": bad(
        GOOD.replace("  knowledge_base", "\tknowledge_base"),
        ":4: a tab where YAML wants spaces; indent with spaces",
    ),
    "one-tab": bad(
        GOOD.replace("  per_triple", "\tper_triple"),
        ":5: a tab where YAML wants spaces; indent with spaces",
    ),
    "unclosed-quote": bad(
        GOOD.replace("FAIR-1", '"FAIR-1'),
        ":1: not valid YAML: ...quoted scalar that begins here, ...; check indentation, quotes...",
    ),
    "unclosed-bracket": bad(
        GOOD.replace("fair]", "fair"),
        ":8: not valid YAML: ...flow sequence that begins here, ...; check indentation, ...",
    ),
    "colon-in-text": bad(
        GOOD + "objective: Advice: is it fair?\n",
        ":9: not valid YAML: mapping values are not allowed...; put text that holds a colon in "
        "quotes, or check the indentation",
    ),
    "star-in-text": bad(
        _prompts("  topics: [*leadership*]"),
        ":6: not valid YAML: ...; put text that begins with * or & in quotes",
    ),
    "at-in-text": bad(
        GOOD.replace("recommendation", "@recommendation"),
        ":2: not valid YAML: ...; put text that begins with @, ` or % in quotes",
    ),
    "wrong-indentation": bad(
        GOOD.replace("  per_triple", " per_triple"), ":5: not valid YAML: ...; check indentation..."
    ),
    "duplicate-key": bad(
        GOOD.replace("intent:", "id: OTHER\nintent:"),
        ":2: id: the key stands twice; keep one of the two",
    ),
    "no-word-as-key": bad("? [a, b]\n: c\n" + GOOD, ":1: a key is not a word; write `key: value`"),
    "python-object": bad(
        GOOD.replace("FAIR-1", "!!python/object/apply:os.system [ls]"),
        ":1: id: the tag !!python/object/apply:os.system is not known; remove the tag",
    ),
    "python-object-around-a-good-part": bad(
        GOOD.replace("{metric", "!!python/object:collections.Counter {metric"),
        ":6: expected_fairness: the tag !!python/object:collections.Counter is not known; "
        "remove the tag",
    ),
    "unknown-tag": bad(
        GOOD.replace("[simulated", "!models [simulated"),
        ":8: environment.models: the tag !models is not known; remove the tag",
    ),
    "deep-nesting": bad(
        "id: " + "[" * 10_000 + "]" * 10_000,
        ":1: nested deeper than 40 levels; write the document plainly",
    ),
    "deep-mappings": bad(
        "{a: " * 10_000, ":1: nested deeper than 40 levels; write the document plainly"
    ),
    "deep-blocks": bad(
        "- " * 10_000, ":1: nested deeper than 40 levels; write the document plainly"
    ),
    "billion-laughs": bad(
        _LAUGHS, ":1: aliases make the document too large; write the document plainly"
    ),
    "long-text-repeated": bad(
        f"a: &a {'x' * 50_000}\nb: [{', '.join(['*a'] * 5_000)}]",
        ":1: aliases make the document too large; write the document plainly",
    ),
    "billion-merges": bad(
        "a: &a {x: 1}\n"
        + "".join(
            f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}]}}\n"
            for old, new in pairwise(ascii_lowercase[:12])
        ),
        ":1: aliases make the document too large; write the document plainly",
    ),
    "recursive-alias": bad(
        "id: &a [*a]\n", ":1: aliases make the document too large; write the document plainly"
    ),
    "recursive-merge": bad(
        GOOD.replace("{metric", "&a {<<: *a, metric"),
        ":6: expected_fairness: `<<` merges a mapping into itself; remove the `<<`",
    ),
    "merge-of-text": bad(
        GOOD.replace("{metric", "{<<: lsa, metric"),
        ":6: expected_fairness: `<<` merges mappings only; name an alias of one",
    ),
    "unknown-alias": bad(
        GOOD.replace("FAIR-1", "*other"),
        ":1: not valid YAML: ...; put text that begins with * or & in quotes",
    ),
    # -- no test case -------------------------------------------------------------------------
    "list": bad(
        "- id: A\n", ":1: a test case is a mapping, and this is a list; write `id: ...` lines"
    ),
    "text": bad(
        "hello\n", ':1: a test case is a mapping, and this is "hello"; write `id: ...` lines'
    ),
    "empty-document": bad(
        GOOD + "---\n# nothing\n", ":11: an empty document; remove the `---` above it"
    ),
    "unknown-key": bad(
        GOOD.replace("intent:", "intend:"),
        ":1: intent: is missing; add `intent:`",
        ':2: intend: unknown key "intend"; did you mean "intent"?',
    ),
    "unheard-of-key": bad(
        GOOD + "zzz: 1\n",
        f':9: zzz: unknown key "zzz"; use one of: {_KEYS}',
    ),
    "key-of-another-part": bad(
        GOOD + "threshold: 0.8\n",
        f':9: threshold: unknown key "threshold"; use one of: {_KEYS}',
    ),
    "terminal-code-as-key": bad(
        GOOD + '"a\\nb\\e[2J": 1\n',
        r':9: a\nb\x1b[2J: unknown key "a\nb\u001b[2J"; use one of: ' + _KEYS,
    ),
    "wrong-type": bad(
        GOOD.replace("per_triple: 4", "per_triple: four"),
        ':5: prompts.per_triple: should be a whole number, and is "four"; write digits, without '
        "quotes",
    ),
    "word-that-yaml-takes-for-true": bad(
        GOOD.replace("recommendation", "yes"),
        ":2: intent: should be text, and is true; put it in quotes",
    ),
    "nothing-behind-a-key": bad(
        GOOD.replace(" recommendation", ""),
        ":2: intent: is empty; fill it in, or remove the key",
    ),
    "text-in-place-of-a-list": bad(
        GOOD.replace("[simulated/fair]", "simulated/fair"),
        ':8: environment.models: should be a list, and is "simulated/fair"; write it as [a, b], '
        "or one `- a` a line",
    ),
    "no-models": bad(
        GOOD.replace("[simulated/fair]", "[]"),
        ":8: environment.models: is empty; fill it in, or remove the key",
    ),
    "bad-identifier": bad(
        GOOD.replace("FAIR-1", "FAIR 1[a]"),
        ':1: id: "FAIR 1[a]" is no identifier; use letters, digits and _ . + -, beginning with a '
        "letter or digit",
    ),
    "long-identifier": bad(
        GOOD.replace("FAIR-1", "F" * 101), ":1: id: is too long; keep to 100 characters"
    ),
    "unknown-kind": bad(
        "kind: counterfactul\n" + GOOD,
        ':1: kind: unknown kind "counterfactul"; did you mean "counterfactual"?',
    ),
    "no-word-as-kind": bad(
        GOOD + "kind: [a]\n", ":9: kind: a kind is one word; use one of: counterfactual"
    ),
    "threshold-above-one": bad(
        GOOD.replace("0.8", "1.5"),
        ":6: expected_fairness.threshold: 1.5 is out of range; choose a number at most 1",
    ),
    "threshold-nan": bad(
        GOOD.replace("0.8", ".nan"),
        ":6: expected_fairness.threshold: this is no finite number; write a plain number",
    ),
    "infinite-timeout": bad(
        GOOD + "  timeout: .inf\n",
        ":9: environment.timeout: this is no finite number; write a plain number",
    ),
    "huge-number": bad(
        GOOD + f"  seed: 0x{'f' * 5000}\n",
        ":9: environment.seed: the number is too large; put it in quotes if it is text",
    ),
    "huge-clock-time": bad(
        GOOD + f"  seed: 1{':59' * 500}.5\n",
        ":9: environment.seed: this is no number; put it in quotes",
    ),
    "empty-number": bad(
        GOOD + "  seed: !!int ''\n",
        ":9: environment.seed: this is no whole number; put it in quotes",
    ),
    "per-triple-zero": bad(
        GOOD.replace("per_triple: 4", "per_triple: 0"),
        ":5: prompts.per_triple: 0 is out of range; choose a number at least 1",
    ),
    "per-triple-and-plateau": bad(
        _prompts("  plateau: {patience: 2}"),
        ":6: prompts.plateau: `per_triple` and `plateau` exclude each other; keep one of them",
    ),
    "tiny-margin": bad(
        _prompts("  sample: {margin: 1.0e-200}"),
        ":6: prompts.sample.margin: 1e-200 is out of range; choose a number at least 0.001",
    ),
    "certain-confidence": bad(
        _prompts("  sample: {confidence: 0.9999999999999999}"),
        ":6: prompts.sample.confidence: 0.9999999999999999 is out of range; choose a number at "
        "most 0.9999",
    ),
    "unknown-generator": bad(
        _prompts("  generator: template"),
        ':6: prompts.generator: unknown value "template"; did you mean "templates"?',
    ),
    "two-models-of-one-alias": bad(
        GOOD.replace("[simulated/fair]", "[simulated/fair, openai/fair]"),
        ':8: environment.models[1]: two models are called "fair"; give one of them another `alias`',
    ),
    "api-base-no-address": bad(
        _model("model: openai/x, api_base: localhost"),
        ":8: environment.models[0].api_base: is no plain address; "
        "write http://host:port/v1; a key goes into `api_key`",
    ),
    "api-key-in-the-file": bad(
        _model("model: openai/x, api_key: sk-abcdef"),
        ":8: environment.models[0].api_key: has to name an environment variable; write env:NAME "
        "and put the key into NAME",
    ),
    "two-speakers-in-a-turn": bad(
        GOOD + "context:\n  history:\n    - {user: a, assistant: b}\n",
        ":11: context.history[0]: a turn has one speaker; keep either `user` or `assistant`",
    ),
    "duplicate-id": bad(
        GOOD + "---\n" + GOOD,
        ':10: id: the id "FAIR-1" stands on line 1 already; give each test case its own id',
    ),
    # -- a test case that names what is not there -----------------------------------------------
    "missing-base": lost(
        GOOD.replace("triples.csv", "crows"),
        ':4: prompts.knowledge_base: unknown knowledge base "crows"; did you mean "crows-pairs"?',
    ),
    "missing-base-file": lost(
        GOOD.replace("triples.csv", "no/triples.csv"),
        ':4: prompts.knowledge_base: no file "no/triples.csv"; give its path from the folder of '
        "this file",
    ),
    "base-that-no-file-can-be": lost(
        GOOD.replace("triples.csv", "ü" * 190 + ".csv"),
        f':4: prompts.knowledge_base: no file "{"ü" * 190}.csv"; give its path from the folder of '
        "this file",
    ),
    "base-with-nul": lost(
        GOOD.replace("triples.csv", '"a\\0"'),
        r':4: prompts.knowledge_base: unknown knowledge base "a\x00"; use one of: crows-pairs, '
        "customer-service, education, healthcare, hiring, housing, lavoro, lending, policing, "
        "software-engineering",
    ),
    "base-without-valid-triples": lost(
        GOOD.replace("triples.csv", "none.csv"),
        ':4: prompts.knowledge_base: the knowledge base "none" holds no valid triple; set valid to '
        "true where a triple can be asked about",
        **{"none.csv": "bias_type,topic,disadvantaged,advantaged,valid\na,b,women,men,no\n"},
    ),
    "unknown-intent": lost(
        GOOD.replace("recommendation", "recomendation"),
        ':2: intent: unknown intent "recomendation"; did you mean "recommendation"?',
    ),
    "unheard-of-intent": lost(
        GOOD.replace("recommendation", "zzz"),
        f':2: intent: unknown intent "zzz"; use one of: {_INTENTS}',
    ),
    "missing-intent-file": lost(
        GOOD.replace("recommendation", "my.intent.yaml"),
        ':2: intent: no file "my.intent.yaml"; give its path from the folder of this file',
    ),
    "unknown-metric": lost(
        GOOD.replace("lsa", "lso"),
        ':6: expected_fairness.metric: unknown metric "lso"; did you mean "lsa"?',
    ),
    "per-triple-above-the-templates": lost(
        GOOD.replace("per_triple: 4", "per_triple: 17"),
        ':5: prompts.per_triple: 17 prompts a triple, and the intent "recommendation" has 16 '
        "templates; choose at most 16",
    ),
    "unknown-bias-type": lost(
        _prompts("  bias_types: [gender, agee]"),
        ':6: prompts.bias_types[1]: "agee" is no bias type of the knowledge base "triples"; did '
        'you mean "age"?',
    ),
    "topics-that-match-nothing": lost(
        _prompts("  topics: [cooking]"),
        ':6: prompts.topics[0]: no topic of the knowledge base "triples" matches "cooking"; use '
        '`*` for any text, as in "*work*"',
    ),
    "topic-misspelt": lost(
        _prompts("  topics: [leadershp]"),
        ':6: prompts.topics[0]: no topic of the knowledge base "triples" matches "leadershp"; did '
        'you mean "leadership"?',
    ),
    "groups-that-match-nothing": lost(
        _prompts("  groups: ['zzz*']"),
        ':6: prompts.groups[0]: no group of the knowledge base "triples" matches "zzz*"; use `*` '
        'for any text, as in "*women*"',
    ),
    "filters-that-match-nothing-together": lost(
        _prompts("  bias_types: [age]\n  topics: [leadership]"),
        ':3: prompts: no triple of the knowledge base "triples" passes all filters together; widen '
        "bias_types, topics or groups",
    ),
    "unknown-simulated-model": lost(
        GOOD.replace("simulated/fair", "simulated/fiar"),
        ':8: environment.models[0]: unknown simulated model "simulated/fiar"; did you mean '
        '"simulated/fair"?',
    ),
    "strength-seven": lost(
        GOOD + "  parameters: {strength: 7}\n", ":9: environment.parameters.strength: ...; ..."
    ),
}
