"""Readers of data sets from which a knowledge base can be made: one file a format."""
