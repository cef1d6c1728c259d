"""The paper's experiments, run again and taken further, from public names of the package alone.

`make reproduce` runs all of it and writes results/; `make reproduce-quick` runs a small version of
the same code. A **part** is a module here with two functions, `units(scale)` and `tables(rows)`;
`frame.py` says what they give, `runner.py` runs them.
"""
