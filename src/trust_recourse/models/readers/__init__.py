"""Readers of other libraries' models, one file a library; `library` has the functions to call."""
