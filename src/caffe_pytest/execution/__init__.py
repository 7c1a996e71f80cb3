"""Machinery: asking models without waiting in line, and keeping every answer."""
