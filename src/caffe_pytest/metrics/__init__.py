"""Metrics: pure functions from answers to scores, one file a metric."""
