"""The JSON Schema of a test case, generated from the model: editors complete and check with it."""

from __future__ import annotations

import json

from pydantic import TypeAdapter

from caffe_pytest.model.test_case import TestCase


def test_case_schema() -> str:
    """The schema as JSON text, stable from one call to the next.

    It keeps to what Draft 7 and 2020-12 have in common: the YAML language server speaks Draft 7.
    """
    schema = TypeAdapter(TestCase).json_schema()
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    schema["title"] = "caffe-pytest test case"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
