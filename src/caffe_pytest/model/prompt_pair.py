"""Prompts that differ only in the group they name."""

from __future__ import annotations

from dataclasses import dataclass

from caffe_pytest.model.triple import Triple


@dataclass(frozen=True, slots=True)
class PromptPair:
    """Two prompts made from one triple and one template."""

    triple: Triple
    intent: str
    number: int
    """1-based within the triple."""
    disadvantaged: str
    """The prompt that names the disadvantaged group."""
    advantaged: str
    """The prompt that names the advantaged group."""

    @property
    def groups(self) -> tuple[str, str]:
        """The names of the groups, the disadvantaged one first."""
        return self.triple.disadvantaged, self.triple.advantaged

    @property
    def prompts(self) -> tuple[str, str]:
        """The two prompts, the one about the disadvantaged group first."""
        return self.disadvantaged, self.advantaged
