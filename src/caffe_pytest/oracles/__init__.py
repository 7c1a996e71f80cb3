"""Oracles: from scores to a verdict. Pure: no oracle asks, reads or writes anything."""
