"""The version of caffe-pytest, in one place."""

__version__ = "0.1.0"
