"""Heuristic search for any model with probabilities: engines without proof."""
