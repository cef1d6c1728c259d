"""The path of a question: the package's files and functions up to the first compiled one.

    python benchmarks/path.py                 # prints the trace for each kind of model

`trace()` gives the rows, for docs and for the test that bounds their number. A comprehension is
counted with the function that it stands in.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trust_recourse
from trust_recourse import Recourse, Schema, _native, haberman

PACKAGE = f"{Path(trust_recourse.__file__).parent}/"
PERSON = {"age": 60, "year": 62, "nodes": 30}
INSIDE = re.compile(r"\.<locals>\.<(listcomp|dictcomp|setcomp|genexpr|lambda)>.*")
MODELS = {
    "boosted trees": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0),
    "logistic regression": LogisticRegression,
}


class ReachedError(Exception):
    """The first compiled function was called."""


def trace(last):
    """(file, function) of each function that the first `find` enters, in order, each once."""
    X, y = haberman()
    schema = Schema.infer(X).lock("age", "year")
    recourse = Recourse(make_pipeline(StandardScaler(), last).fit(X, y), schema)
    seen = {}

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            seen[path.removeprefix(PACKAGE), INSIDE.sub("", frame.f_code.co_qualname)] = None

    def stop(*_, **__):
        raise ReachedError

    compiled = {  # which `sys.setprofile` does not see
        name: each for name, each in vars(_native).items() if type(each).__name__ == "nb_func"
    }
    vars(_native).update(dict.fromkeys(compiled, stop))
    sys.setprofile(note)
    try:
        recourse.find(PERSON, 0.7)
    except ReachedError:
        pass
    else:
        raise RuntimeError("no compiled function was called")
    finally:
        sys.setprofile(None)
        vars(_native).update(compiled)
    return list(seen)


def files(steps):
    """The files of a trace, in order, each once."""
    return list(dict.fromkeys(path for path, _ in steps))


def main():
    for name, made in MODELS.items():
        steps = trace(made())
        print(f"{name}: {len(files(steps))} files, {len(steps)} functions")
        for path in files(steps):
            names = [function for each, function in steps if each == path]
            print(f"  {path}: {', '.join(names)}")


if __name__ == "__main__":
    main()
