"""Validity under retraining: the same model fitted again on resampled rows, in three sets.

| set        | what it is for                                                                |
|------------|-------------------------------------------------------------------------------|
| search     | the answer must reach a threshold on their mean log-odds                      |
| validation | they decide whether the answer is valid, or the threshold must rise           |
| fresh      | they measure how many accept it: the answer was not chosen by them            |
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.io.scalars import plain
from trust_recourse.models.bootstrap import LEAST
from trust_recourse.models.loading import load
from trust_recourse.models.readers.read_model import READ_BY, ReadModel, as_read
from trust_recourse.models.seam import Score
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.ensemble import SumModel
from trust_recourse.models.sums.mean import MeanSum
from trust_recourse.question import Survival
from trust_recourse.search.survival import Judgement, judged, share_interval

SETS = ("search", "validation", "fresh")
FEWEST = LEAST // len(SETS)  # models of a set
FILES = "*.safetensors"
SURELY = 1e-12  # a probability nearer to 0 or 1 counts as this: its log-odds are finite


@dataclass(frozen=True, eq=False)
class Retrained:
    """Retrained models of one family, in three sets; each model is in one of them."""

    search: Sequence[Any]
    validation: Sequence[Any]
    fresh: Sequence[Any]

    def __post_init__(self) -> None:
        for name in SETS:
            models = tuple(getattr(self, name))
            if len(models) < FEWEST:
                raise ValueError(
                    f"{name}: given {len(models)} retrained models, expected at least {FEWEST}; "
                    "bootstraps(model, X, y, n=60) makes 60, a third for each of "
                    f"{', '.join(SETS)}"
                )
            object.__setattr__(self, name, models)

    @classmethod
    def of(cls, models: Bootstraps) -> Retrained:
        """The sets themselves, or thirds of a list of models, or of a folder of their files."""
        if isinstance(models, Retrained):
            return models
        if isinstance(models, (str, os.PathLike)):
            files = sorted(Path(models).glob(FILES))
            if not files:
                raise FileNotFoundError(
                    f"{models}: expected a folder of retrained models, {FILES}, as "
                    "`trust-recourse fit --bootstraps 60` or `import --again` writes it"
                )
            models = [load(path) for path in files]
        if len(models) < LEAST:
            raise ValueError(
                f"bootstraps: given {len(models)} retrained model{'s' * (len(models) != 1)}, "
                f"expected at least {LEAST}, {FEWEST} for each of {', '.join(SETS)}; "
                "60 are better: bootstraps(model, X, y, n=60) makes them"
            )
        return cls(*(tuple(models[k::3]) for k in range(3)))

    def read(self, read: Callable[[Any], Any]) -> Retrained:
        """The same by a function that reads a model."""
        return Retrained(*(tuple(map(read, getattr(self, name))) for name in SETS))


Bootstraps = Retrained | Sequence[Any] | str | os.PathLike[str]


def save_all(folder: str | os.PathLike[str], models: Sequence[Any]) -> None:
    """Write retrained models to a folder, all or none: an old one is there until all are."""
    path = Path(folder)
    beside, old = (path.with_name(f"{path.name}.{part}") for part in ("part", "old"))
    known = {*path.glob(FILES)} if path.is_dir() else set()
    if path.exists() and {*path.iterdir()} != known:
        raise FileExistsError(f"{path}: it holds other files than models; give another folder")
    for left in (beside, old):
        shutil.rmtree(left, ignore_errors=True)
    beside.mkdir(parents=True)
    for at, model in enumerate(models):
        states = {"states": False} if hasattr(model, "drop_states") else {}
        model.save(beside / f"{at:04}.safetensors", **states)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def remove_all(folder: str | os.PathLike[str]) -> None:
    """Remove a folder that `save_all` wrote, if it is there; any other file in it stays."""
    path = Path(folder)
    if path.is_dir():
        for file in path.glob(FILES):
            file.unlink()
        if not any(path.iterdir()):
            path.rmdir()


def mean_of(models: Sequence[Any]) -> Any:
    """One model whose score is the mean of these models', where it is a sum of the same kind."""
    from trust_recourse.models.tsetlin.confidence import MeanMachine
    from trust_recourse.models.tsetlin.machines import (  # loads scikit-learn
        PTMClassifier,
        TMClassifier,
    )

    first = models[0]
    for other in models[1:]:
        if list(other.classes_) != list(first.classes_):
            raise ValueError(
                f"bootstraps: models of the classes {list(first.classes_)} and "
                f"{list(other.classes_)}; expected the same of all"
            )
    if len(first.classes_) > 2:
        raise ValueError(
            f"survives: the models have {len(first.classes_)} classes, whose mean is no sum of "
            "theirs; it can be asked of two"
        )
    if all(isinstance(each, (SumModel, Additive)) for each in models):
        links = {isinstance(each, Additive) or each.link.logistic for each in models}
        if len(links) == 1:
            return MeanSum(models, links.pop())
    elif all(isinstance(each, (PTMClassifier, TMClassifier)) for each in models):
        if others := sorted({each.settings_["link"] for each in models} - {"logistic"}):
            raise ValueError(
                f"survives: the machines have link={others[0]!r}, whose mean confidence is no sum "
                "of their clauses; learn them with link='logistic'"
            )
        return MeanMachine([each.machine_ for each in models])
    kinds = sorted({type(each).__name__ for each in models})
    raise ValueError(
        f"bootstraps: given models of the kinds {', '.join(kinds)}; expected all of one: sums of "
        "trees, points and slopes with a logistic link, forests, or machines with that link"
    )


class BootstrapEnsemble:
    """Retrained models as they are asked about points of one class."""

    def __init__(self, models: Retrained, wanted: int) -> None:
        self.models, self.wanted = models, wanted
        self.mean: Score = mean_of(models.search).score_of(wanted)

    @classmethod
    def of(cls, given: Bootstraps, model: ReadModel) -> BootstrapEnsemble:
        """Read retrained models as the model of today was read, and check that they go together."""
        models = Retrained.of(given).read(partial(as_read, schema=model.given))
        classes = list(model.model.classes_)
        ours = [[getattr(feature, part) for part in READ_BY] for feature in model.model.schema_]
        for each in (*models.search, *models.validation, *models.fresh):
            if not hasattr(each, "score_of") or list(each.classes_) != classes:
                raise ValueError(
                    f"bootstraps: given a {type(each).__name__}; expected models that can be read, "
                    f"of the classes {[plain(label) for label in classes]}"
                )
            theirs = [[getattr(feature, part) for part in READ_BY] for feature in each.schema_]
            if theirs != ours:
                raise ValueError(
                    "bootstraps: a model reads other columns, or reads them otherwise, than the "
                    "one that is asked; fit it with the same schema, as bootstraps(model, X, y) "
                    "does"
                )
        return cls(models, model.wanted_at)

    def __getstate__(self) -> dict[str, Any]:
        """Without the scores, which are made again where they are asked for."""
        return {"models": self.models, "wanted": self.wanted, "mean": self.mean}

    @cached_property
    def _validation(self) -> list[Score]:
        return [model.score_of(self.wanted) for model in self.models.validation]

    @cached_property
    def _fresh(self) -> list[Score]:
        return [model.score_of(self.wanted) for model in self.models.fresh]

    def demanded(self, codes: Floats) -> float:
        """The mean score at a point, in log-odds."""
        return float(_log_odds(self.mean.at_codes(codes[None]))[0])

    def judge(self, codes: Floats, share: float, threshold: float) -> Judgement:
        """Whether the models of the validation accept a point so that a share of all would."""
        margins = _log_odds(_at(self._validation, codes)) - float(_log_odds(np.array(threshold)))
        return judged(margins, share, self.demanded(codes))

    def survival(self, codes: Floats, share: float, demand: float, threshold: float) -> Survival:
        """How many models of the validation and of the fresh ones accept an answer."""
        kept = int((_at(self._fresh, codes) >= threshold).sum())
        validated = int((_at(self._validation, codes) >= threshold).sum())
        many = len(self._fresh)
        return Survival(
            share, self.judge(codes, share, threshold).enough, demand, validated,
            len(self._validation), kept, many, *share_interval(kept, many),
        )  # fmt: skip


def _at(scores: Sequence[Score], codes: Floats) -> Floats:
    return np.array([float(score.at_codes(codes[None])[0]) for score in scores])


def _log_odds(confidence: Floats) -> Floats:
    p = np.clip(confidence, SURELY, 1.0 - SURELY)
    return np.asarray(np.log(p / (1.0 - p)))
