"""The pluggy manager: built-ins, installed plugins, conftest files."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pluggy

from caffe_pytest import hookspecs
from caffe_pytest.errors import CaffeError
from caffe_pytest.hookspecs import Metric, ProviderFactory

T = TypeVar("T")

BUILT_INS = (
    "caffe_pytest.design.intent",
    "caffe_pytest.knowledge.shipped",
    "caffe_pytest.metrics.built_ins",
    "caffe_pytest.providers.litellm",
    "caffe_pytest.providers.simulated",
)
"""Named as strings, so that no import points up the floors."""

ENTRY_POINTS = "caffe"
ANY_MODEL = ""
"""Prefix of the provider that takes every model no other provider claims."""


@dataclass
class Extensions:
    """All that is registered, by name."""

    providers: dict[str, ProviderFactory] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    intents: list[Path] = field(default_factory=list)
    knowledge_bases: dict[str, Path] = field(default_factory=dict)

    def provider_factory(self, model: str) -> ProviderFactory:
        """The factory for a model's name, by its part before the first slash."""
        prefix = model.partition("/")[0] if "/" in model else ANY_MODEL
        return self.providers.get(prefix) or self.providers[ANY_MODEL]


def load_extensions(plugins: Iterable[object] = ()) -> Extensions:
    """Ask the built-ins, the installed plugins and `plugins` for what they register.

    Raises:
        CaffeError: two plugins register different things under one name, or one cannot be loaded.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs.CaffeSpec)
    for name in BUILT_INS:
        manager.register(importlib.import_module(name), name=name)
    try:
        manager.load_setuptools_entrypoints(ENTRY_POINTS)
    except Exception as error:  # any error a foreign module may raise while it is imported
        raise CaffeError(f"an installed caffe plugin cannot be loaded: {error}") from error
    for plugin in plugins:
        if not manager.is_registered(plugin):
            # by identity: every conftest is called `conftest`
            manager.register(plugin, name=f"{getattr(plugin, '__file__', '')}#{id(plugin)}")
    found = Extensions()
    hook = manager.hook
    try:
        hook.register_providers(register=_once("provider", found.providers))
        hook.register_metrics(
            register=lambda metric: _once("metric", found.metrics)(metric.name, metric)
        )
        hook.register_intents(register=found.intents.append)
        hook.register_knowledge_bases(register=_once("knowledge base", found.knowledge_bases))
    except CaffeError:
        raise
    except Exception as error:  # whatever a plugin raises
        raise CaffeError(f"a caffe plugin broke while it registered: {error!r}") from error
    return found


def _once(what: str, known: dict[str, T]) -> Callable[[str, T], None]:
    def register(name: str, value: T) -> None:
        if known.setdefault(name, value) is not value:
            raise CaffeError(f'two plugins register the {what} "{name}"; rename one of them')

    return register


def conftest_plugins(folders: Iterable[Path]) -> list[object]:
    """The `conftest.py` modules of these folders, for the front door that is not pytest.

    Raises:
        CaffeError: one of them cannot be imported.
    """
    modules: list[object] = []
    for folder in dict.fromkeys(folders):
        path = folder / "conftest.py"
        if not path.is_file():
            continue
        name = f"caffe_conftest_{len(modules)}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            continue
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever the user's module raises
            raise CaffeError(f"{path}: cannot be imported: {error}") from error
        modules.append(module)
    return modules
