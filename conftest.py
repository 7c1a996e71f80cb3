"""pytest's own helper for testing plugins, for the tests of this one."""

pytest_plugins = ["pytester"]
