"""Guesses about a table's columns: kinds, levels, meanings, sentinels, scales, and proposals."""
