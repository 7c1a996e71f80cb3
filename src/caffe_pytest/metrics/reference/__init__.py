"""Frozen artefacts that metrics compare with; see README.md beside this file."""
