"""Model files of every family: one reader for all who are given a file."""

from __future__ import annotations

import os

from trust_recourse import model_file
from trust_recourse.sums import Additive, ClassSums, SumModel, store
from trust_recourse.tsetlin import machines

Model = machines.PTMClassifier | machines.TMClassifier | SumModel | Additive | ClassSums
MAKERS: model_file.Makers[Model] = {**machines.MAKERS, **store.MAKERS}


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file written by `save`; every part of it is checked before it is used."""
    return model_file.restored(path, MAKERS)
