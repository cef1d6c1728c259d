"""What is asked of a model that is to be fitted to a table: one value, for every surface.

It imports nothing that takes time, so that a command can teach what may be asked at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trust_recourse.io.fields import setting

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from trust_recourse import PTMClassifier, Schema
    from trust_recourse.report.model.model_report import ModelReport

FEWEST = 8  # rows of the smaller class, for some of them to be held out


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """The settings of a machine, what is decided by it, and on which rows it is judged."""

    wanted: str | None = setting(
        None, "The class hoped for, kept in the file; the second label if none, unless the labels "
        "are words. The model itself takes both alike.", sample="LABEL",
    )  # fmt: skip
    threshold: float | None = setting(
        None, "Who is below this confidence is refused, kept in the file; 0.5 if none.",
        sample="T", above=0, below=1,
    )  # fmt: skip
    clauses: int = setting(100, "Rules, an even number.", least=2)
    epochs: int = setting(
        20, "Readings of the table, at most; it stops once more do not pay.", least=1
    )
    t: float | None = setting(
        None, "The vote at which learning rests; a tenth of the rules if none.", line="T", above=0
    )
    s: float = setting(3.0, "Above 1; larger gives longer rules.", above=1)
    thresholds: str = setting("12", "The most for each number, or 'unique' for every value.")
    link: Literal["margin", "vote", "logistic"] = setting(
        "logistic", "How rules become a confidence: by their vote, or weighed by what they tell."
    )
    use_protected: bool = setting(False, "Learn from columns that the schema calls protected, too.")
    calibration: Literal["none", "isotonic", "sigmoid", "temperature"] = setting(
        "none", "Correct the confidences by rows held out; learns five times more."
    )
    seed: int = setting(0, "Seed of all chance.", least=0, below=2**32)
    bootstraps: int = setting(
        0, "Also learn so many models anew, such as 60, into a folder beside the model: for "
        "`find --survives`.", least=0,
    )  # fmt: skip
    holdout: float = setting(
        0.25, "Share of the rows to judge it on, by learning twice.", least=0, below=0.9
    )

    def __post_init__(self) -> None:
        if not 0 <= self.holdout <= 0.9:
            raise ValueError(f"holdout={self.holdout!r}; expected a share from 0 to 0.9")
        if self.thresholds != "unique" and not self.thresholds.isdecimal():
            raise ValueError(
                f"thresholds={self.thresholds!r}; expected a number such as 20, or 'unique', for "
                "the cuts of each column. Who is refused is said by the decision threshold"
            )

    def machine(self, schema: Schema) -> PTMClassifier:
        """The machine with these settings, to be fitted."""
        from trust_recourse import PTMClassifier

        return PTMClassifier(
            self.clauses, s=self.s, T=self.t, epochs=self.epochs, link=self.link,
            thresholds="unique" if self.thresholds == "unique" else int(self.thresholds),
            use_protected=self.use_protected, schema=schema, random_state=self.seed, verbose=True,
            calibration=None if self.calibration == "none" else self.calibration,
        )  # fmt: skip

    def held_out(self, labels: NDArray[Any]) -> int:
        """The rows to judge the machine on; none if a class has too few to spare some."""
        import numpy as np

        fewest, share = int(np.unique(labels, return_counts=True)[1].min()), self.holdout
        enough = fewest >= FEWEST and fewest * min(share, 1 - share) >= 2
        return math.ceil(share * len(labels)) if enough else 0

    def judged(
        self, machine: PTMClassifier, rows: pd.DataFrame, labels: NDArray[Any], wanted: Any
    ) -> ModelReport:
        """The machine judged on the rows held out, fitted to the others."""
        from trust_recourse.report.model.model_report import holdout_report

        return holdout_report(
            machine, rows, labels, holdout=self.holdout, wanted=wanted, random_state=self.seed,
            schema=machine.schema, decision_threshold=self.threshold,
        )  # fmt: skip
