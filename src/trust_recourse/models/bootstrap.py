"""A model learnt anew from rows drawn by chance: what its next version might have been."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.io.progress import Progress

LEAST = 15  # models learnt anew, for an answer that lasts: three sets of five


def bootstraps(
    model: Any,
    X: Any,
    y: Any,
    n: int = 60,
    *,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Any]:
    """The same model learnt anew, each time from as many rows drawn with replacement.

    `model` is any classifier of scikit-learn's conventions, with the settings to learn by, fitted
    or not; a model out of a file cannot learn. One that has a seed gets another each time. A draw
    without one of the classes is drawn again. Machines are given without their states, which take
    much memory, so they cannot learn on.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> again = bootstraps(LogisticRegression(), X, y, n=3)
    >>> [each.classes_.tolist() for each in again]
    [[0, 1], [0, 1], [0, 1]]
    """
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n={n!r}; expected a whole number of at least 1, such as 60")
    from sklearn.base import clone  # loads much

    if not all(hasattr(model, each) for each in ("fit", "get_params", "set_params")):
        raise TypeError(
            f"given a {type(model).__name__}, which cannot learn again; expected the estimator "
            "with its settings, fitted or not, such as LGBMClassifier(...). Or give "
            f"Recourse(..., bootstraps=) a list of at least {LEAST} models learnt anew, each as "
            "from_model(path, schema) reads it"
        )
    labels, rng = np.asarray(y), np.random.default_rng(random_state)
    if len(X) != len(labels):
        raise ValueError(f"X has {len(X)} rows, y has {len(labels)}; give them equal")
    rows, classes, found = X.iloc if hasattr(X, "iloc") else np.asarray(X), set(labels.tolist()), []
    if pd.isna(labels).any():
        raise ValueError("y has missing labels; expected one for each row")
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {labels[:1].tolist()}; expected two")
    for _ in Progress(n, "learning anew", show=verbose).over(range(n)):
        at = rng.integers(0, len(labels), len(labels))
        while set(labels[at].tolist()) != classes:
            at = rng.integers(0, len(labels), len(labels))
        again, seed = clone(model), int(rng.integers(2**31))
        if again.get_params().get("schema", ...) is None and hasattr(model, "schema_"):
            again.set_params(schema=model.schema_)  # or each draw would read values its own way
        seeded = {name for name in again.get_params() if name.endswith("random_state")}
        again.set_params(**dict.fromkeys(seeded, seed))
        drawn = y.iloc[at] if isinstance(y, pd.Series) else labels[at]
        learnt = again.fit(rows[at], drawn)
        found.append(learnt.drop_states() if hasattr(learnt, "drop_states") else learnt)
    return found
