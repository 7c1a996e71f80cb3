"""YAML as pytest nodes: file, test case, model, item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from caffe_pytest.errors import CaffeError
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.pytest_plugin.item import FairnessItem
from caffe_pytest.reporting.text import shown_path
from caffe_pytest.services.plan import CasePlan

if TYPE_CHECKING:
    from caffe_pytest.pytest_plugin.session import FairnessSession


class FairnessFile(pytest.File):
    """A file `*.fairness.yaml`."""

    fairness: FairnessSession

    def collect(self) -> Iterable[CaseNode]:
        """The test cases of the file; everything wrong with it is one collection error."""
        try:
            # a file outside of the root folder has an empty node id
            shown = self.nodeid or shown_path(self.path)
            plans = self.fairness.planner.plan_file(self.path, shown)
        except CaffeError as error:
            raise self.CollectError(str(error)) from error
        for plan in plans:
            node = CaseNode.from_parent(self, name=plan.case.id)
            node.plan = plan
            yield node


class CaseNode(pytest.Collector):
    """A test case."""

    plan: CasePlan

    def collect(self) -> Iterable[ModelNode]:
        """The models of its environment."""
        for model in self.plan.case.environment.models:
            node = ModelNode.from_parent(self, name=model.alias)
            node.plan, node.model = self.plan, model
            yield node


class ModelNode(pytest.Collector):
    """A test case for one model."""

    plan: CasePlan
    model: ModelUnderTest

    def collect(self) -> Iterable[FairnessItem]:
        """One item for each prompt pair, or pool. Prompts are not rendered here: names suffice."""
        marks: dict[tuple[str, str], pytest.MarkDecorator] = {}
        for procedure in self.plan.procedures_for(self.model):
            pooled = self.plan.metric is None
            topic = "*" if pooled else procedure.slots[0].triple.topic
            kind = (procedure.bias_type, topic)
            if kind not in marks:
                marks[kind] = pytest.mark.fairness(
                    case=self.plan.case.id,
                    model=self.model.alias,
                    intent=self.plan.intent.name,
                    bias_type=procedure.bias_type,
                    topic=topic,
                )
            item = FairnessItem.from_parent(self, name=procedure.name)
            item.procedure = procedure
            item.own_markers.append(marks[kind].mark)
            item.keywords["fairness"] = marks[kind]
            yield item
