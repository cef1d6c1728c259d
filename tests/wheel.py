"""A wheel answers with proof where nothing but its own requirements is installed.

python tests/wheel.py
"""

from __future__ import annotations

import sys
import time

began = time.perf_counter()

import numpy as np  # noqa: E402

import trust_recourse  # noqa: E402
from trust_recourse import PTMClassifier, Recourse, Schema, haberman, verify  # noqa: E402


def main() -> None:
    if "src/trust_recourse" in trust_recourse.__file__.replace("\\", "/"):
        sys.exit(f"{trust_recourse.__file__} is a checkout; expected an installed wheel")
    X, y = haberman()
    assert Schema.infer(X).reasons  # by the words in a data file
    schema = Schema.infer(X, guard=False)
    model = PTMClassifier(epochs=5, schema=schema, random_state=0).fit(X, y)
    said = model.predict_proba(X)[:, 1]
    refused = X.iloc[int(np.argmin(said))]
    level = float((said.min() + said.max()) / 2)
    result = Recourse(model, schema).find(refused, level)
    if result.options[0].status != "optimal":
        sys.exit(f"the answer is {result.options[0].status}; expected an optimal one")
    checked = verify(result.certificate(level), model)
    if checked.status != "optimal":
        sys.exit(f"the certificate shows {checked.status}; expected an optimal answer")
    print(f"{result.options[0].cost:.4f} proved after {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
