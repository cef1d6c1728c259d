"""Labels of a table as a model calls its classes: one mapping for all that read labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trust_recourse.io.wording import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

GOOD = frozenset(
    (
        "accepted", "approval", "approved", "creditworthy", "good", "granted", "ok", "paid",
        "pass", "passed", "performing", "repaid", "repay", "repays", "solvent", "yes",
    )
)  # fmt: skip
BAD = frozenset(
    (
        "arrears", "bad", "bankrupt", "bankruptcy", "chargeoff", "charged", "declined", "default",
        "defaulted", "defaults", "delinquency", "delinquent", "denied", "dlq", "dlqin", "fail",
        "failed", "fraud", "insolvent", "loss", "no", "npl", "overdue", "refused", "rejected",
        "unpaid",
    )
)  # fmt: skip
NOT = frozenset(("non", "not", "never", "without"))
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")  # of snake_case, camelCase and words with digits


def good(name: object) -> bool | None:
    """Whether a name means a good outcome; None if it does not say.

    >>> [good(name) for name in ("repaid", "default-payment-next-month", "SeriousDlqin2yrs")]
    [True, False, False]
    >>> good("not_defaulted"), good("class"), good("paid or default")
    (True, None, None)
    """
    words = [word.lower() for word in WORD.findall(str(name))]
    found = {False for word in words if word in BAD} | {True for word in words if word in GOOD}
    if len(found) != 1:
        return None
    return (True in found) != any(word in NOT for word in words)


def told_by(
    truth: NDArray[Any], classes: Sequence[Any], target: str, own: Sequence[Any] | None = None,
    wanted: Any = None,
) -> list[Any]:  # fmt: skip
    """The label in a column of each of a model's classes, in the model's order.

    Labels are the names of the classes. Where they are not, they are the labels that the model's
    file has (`own`; 0, 1, … if None), class by class.

    Raises
    ------
    ValueError
        If the labels are neither, or if the column's name contradicts the names of the classes.

    """
    given, names = {*map(str, truth.tolist())}, list(classes)
    before = [*range(len(names))] if own is None else list(own)
    if given <= {*map(str, names)}:
        return names
    if given <= {*map(str, before)}:
        _refuse_contradiction(target, before, names, wanted)
        return before
    raise ValueError(
        f"--target {target}: the column has the classes {some(sorted(given))}, the model "
        f"{some(names)}; expected the same names. Write the column as the model calls its "
        "classes, or import the model with --classes FIRST,SECOND, in the model's order"
    )


def as_classes(truth: NDArray[Any], classes: Sequence[Any], told: Sequence[Any]) -> NDArray[Any]:
    """The labels of a column as the model's classes."""
    import numpy as np

    known = dict(zip(map(str, told), classes, strict=True))
    return np.array([known[str(each)] for each in truth.tolist()], dtype=object)


def assumed(classes: Sequence[Any], told: Sequence[Any], target: str) -> str:
    """What the mapping of labels assumes, as a sentence; "" where labels are the names."""
    if list(told) == list(classes):
        return ""
    pairs = ", ".join(f"{a} is {b}" for a, b in zip(told, classes, strict=True))
    return f"{pairs}, by the order of the classes; the labels of {target} cannot check these names"


def _refuse_contradiction(
    target: str, before: Sequence[Any], names: Sequence[Any], wanted: Any
) -> None:
    """Refuse names of two classes that say the opposite of the column's name."""
    meant = good(target)
    if meant is None or len(names) != 2 or [*map(str, before)] != ["0", "1"]:
        return
    first, second = map(good, names)
    if first is None and second is None and wanted is not None:
        second = wanted == names[1]  # the wanted class is the good one
    called = second if second is not None else not first if first is not None else None
    if called is None or called is meant:
        return
    outcome = "a good outcome" if meant else "a bad outcome"
    raise ValueError(
        f"--target {target}: by its name, 1 in this column is {outcome}, but the model's class 1 "
        f"is called {names[1]}. Expected names in the model's order, class 0 first: --classes "
        f"{names[1]},{names[0]}. If 1 does mean {names[1]}, rename the column"
    )
