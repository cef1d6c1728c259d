"""Model files of every family: one reader for all who are given a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from trust_recourse.models import model_file
from trust_recourse.models.readers.library import Additive, ClassSums, SumModel
from trust_recourse.models.sums import store

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import PTMClassifier, TMClassifier

    Machine: TypeAlias = PTMClassifier | TMClassifier
    Model: TypeAlias = Machine | SumModel | Additive | ClassSums


def _machine(arrays: model_file.Arrays, header: model_file.Header) -> Machine:
    from trust_recourse.models.tsetlin.machines import MAKERS  # loads scikit-learn

    return MAKERS[str(header["machine"])](arrays, header)


MAKERS: model_file.Makers[Model] = {
    **dict.fromkeys(("PTMClassifier", "TMClassifier"), _machine), **store.MAKERS,
}  # fmt: skip


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file written by `save`; every part of it is checked before it is used."""
    return model_file.restored(path, MAKERS)
