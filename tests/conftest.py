"""Imports that have to outlive `pytester`.

It takes modules first imported in an in-process run out of `sys.modules` again, and libraries with
compiled parts do not survive being imported twice.
"""

import importlib

NAMES = ("numpy", "scipy", "sklearn.decomposition", "sklearn.feature_extraction.text", "yaml")

for name in NAMES:
    importlib.import_module(name)
