"""Ways in which a good text goes wrong, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from caffe_pytest.errors import Problem

_SPECIAL = (
    "---\n", "...\n", "\t", "  ", "\n", "\r", "\0", ":", ": ", "- ", "? ", "[", "]", "{", "}", ",",
    "'", '"', "|\n", ">\n", "#", "&a ", "*a", "<<: *a\n", "!!int ", "!!float ''", "!!set ", "! ",
    "~", ".nan", "-.inf", "1:1.5", "0x", "0b_", "1e999", "9" * 30, "=", "%YAML 1.1\n", "%", "@",
    "`", "\ufeff", "\u2028", "\u0085", "\\", '"\\ud800"', "{{ group }}", "{% if %}", ";", '""',
)  # fmt: skip


@st.composite
def mutated(draw: DrawFn, original: str) -> bytes:
    """The text after one to six small accidents."""
    raw = original.encode()
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 12)))
        kind = draw(st.sampled_from(["delete", "twice", "insert", "bytes", "text", "lines"]))
        if kind == "delete":
            raw = raw[:start] + raw[end:]
        elif kind == "twice":
            raw = raw[:end] + raw[start:end] + raw[end:]
        elif kind == "insert":
            raw = raw[:start] + draw(st.sampled_from(_SPECIAL)).encode() + raw[start:]
        elif kind == "bytes":
            raw = raw[:start] + draw(st.binary(max_size=4)) + raw[end:]
        elif kind == "text":
            raw = raw[:start] + draw(st.text(max_size=6)).encode() + raw[end:]
        else:
            lines = raw.split(b"\n")
            one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[one], lines[other] = lines[other], lines[one]
            raw = b"\n".join(lines)
    return raw


def structures(keys: list[str]) -> SearchStrategy[Any]:
    """Nested plain data, now and then with keys that mean something."""
    words = st.sampled_from(keys) | st.text(max_size=8)
    scalars = (
        st.none() | st.booleans() | st.integers() | st.floats() | words | st.dates() | st.binary()
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(words | st.integers(), inner, max_size=6)
        ),
        max_leaves=20,
    )


def assert_well_told(problems: tuple[Problem, ...]) -> None:
    """Each problem says what is wrong and what to do, on one line."""
    assert problems
    for problem in problems:
        assert problem.cause.strip(), problem
        assert problem.remedy.strip(), problem
        assert problem.line >= 0
        assert str(problem).isprintable()
        assert "Traceback" not in str(problem)
        assert len(str(problem)) < 2000
