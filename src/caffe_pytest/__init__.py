"""caffe-pytest: declarative fairness test cases for language models.

Importing this package costs nothing: pytest imports it in every session in which it is installed.
"""

from typing import Any

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from caffe_pytest.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
