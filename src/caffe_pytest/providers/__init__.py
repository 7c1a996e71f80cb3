"""Providers: each speaks to one model and raises `ProviderError` where it brings no answer."""
