"""The pytest plugin's entry point. It imports only pytest: a session without `--fairness` is free.

`--fairness`, or `fairness = true` in the configuration, registers the real plugin.
"""

from __future__ import annotations

import pytest

SESSION_PLUGIN = "caffe-session"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group `fairness`."""
    group = parser.getgroup("fairness", "fairness test cases (caffe-pytest)")
    group.addoption(
        "--fairness", action="store_true", default=False,
        help="collect *.fairness.yaml and ask the models they name",
    )  # fmt: skip
    group.addoption(
        "--fairness-out", metavar="DIR", default=None,
        help="where runs are kept (default: .caffe in the root folder)",
    )  # fmt: skip
    group.addoption(
        "--fairness-concurrency", metavar="N", type=int, default=None,
        help="calls under way at once for each provider (default: 32)",
    )  # fmt: skip
    group.addoption(
        "--fairness-fresh", action="store_true", default=False,
        help="ask every prompt anew, also where an earlier run has the answer",
    )  # fmt: skip
    parser.addini("fairness", "collect fairness test cases, as with --fairness", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the real plugin where it is wanted."""
    config.addinivalue_line(
        "markers",
        "fairness(case, model, intent, bias_type, topic): an item of a fairness test case; select "
        "with -m \"fairness(bias_type='gender')\"",
    )
    if wanted(config):
        from caffe_pytest.pytest_plugin.session import FairnessSession

        config.pluginmanager.register(FairnessSession(config), SESSION_PLUGIN)


def wanted(config: pytest.Config) -> bool:
    """Whether this session is to ask models."""
    return bool(config.getoption("fairness") or config.getini("fairness"))


def pytest_collection(session: pytest.Session) -> None:
    """Say what is missing when somebody names a test case without `--fairness`."""
    if wanted(session.config):
        return
    for argument in session.config.args:
        name = argument.partition("::")[0]
        if name.endswith((".fairness.yaml", ".fairness.yml")):
            raise pytest.UsageError(f"{name} holds fairness test cases: add --fairness")
