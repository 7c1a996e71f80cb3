"""Imports that have to outlive `pytester`.

It takes modules first imported in an in-process run out of `sys.modules` again, and libraries with
compiled parts do not survive being imported twice.
"""

import numpy  # noqa: F401
import scipy.sparse  # noqa: F401
import sklearn.decomposition  # noqa: F401
import sklearn.feature_extraction.text  # noqa: F401
import yaml  # noqa: F401
