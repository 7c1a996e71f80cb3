"""Triples: loading, finding, choosing."""
