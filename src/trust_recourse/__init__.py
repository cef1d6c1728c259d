"""TRUST: the least a refused person must change to be accepted with a confidence they name.

The names below load on first use, so that `import trust_recourse` costs next to nothing. They are
public, and so are the modules in docs/stability.md; all others are private.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.answers.plausibility import EachRow as EachRow
    from trust_recourse.answers.plausibility import Isolation as Isolation
    from trust_recourse.answers.plausibility import NearNeighbours as NearNeighbours
    from trust_recourse.answers.recourse import Recourse as Recourse
    from trust_recourse.answers.result import Result as Result
    from trust_recourse.answers.retraining import Retrained as Retrained
    from trust_recourse.answers.verifying import verify as verify
    from trust_recourse.certificate import Certificate as Certificate
    from trust_recourse.certificate import CertificateError as CertificateError
    from trust_recourse.data import german_credit as german_credit
    from trust_recourse.data import german_credit_schema as german_credit_schema
    from trust_recourse.data import haberman as haberman
    from trust_recourse.ledger import Ledger as Ledger
    from trust_recourse.models.bootstrap import bootstraps as bootstraps
    from trust_recourse.models.loading import load as load
    from trust_recourse.models.readers.library import from_model as from_model
    from trust_recourse.models.tsetlin.machines import PTMClassifier as PTMClassifier
    from trust_recourse.models.tsetlin.machines import TMClassifier as TMClassifier
    from trust_recourse.population.audit import Audit as Audit
    from trust_recourse.question import Option as Option
    from trust_recourse.question import Question as Question
    from trust_recourse.question import Status as Status
    from trust_recourse.question import Target as Target
    from trust_recourse.question.cost import Cost as Cost
    from trust_recourse.report import model_report as model_report
    from trust_recourse.report.evidence import Evidence as Evidence
    from trust_recourse.report.evidence import evidence as evidence
    from trust_recourse.report.letter import Letter as Letter
    from trust_recourse.report.letter import ProtectedReasonError as ProtectedReasonError
    from trust_recourse.report.letter import letter as letter
    from trust_recourse.report.letter.profiles import EUProfile as EUProfile
    from trust_recourse.report.letter.profiles import USProfile as USProfile
    from trust_recourse.schema import AtMost as AtMost
    from trust_recourse.schema import Feature as Feature
    from trust_recourse.schema import Implication as Implication
    from trust_recourse.schema import Schema as Schema

__version__ = "0.1.0"

_NAMES = {  # of each module
    "answers.plausibility": "EachRow Isolation NearNeighbours",
    "answers.recourse": "Recourse",
    "answers.result": "Result",
    "answers.retraining": "Retrained",
    "answers.verifying": "verify",
    "certificate": "Certificate CertificateError",
    "data": "german_credit german_credit_schema haberman",
    "ledger": "Ledger",
    "models.bootstrap": "bootstraps",
    "models.loading": "load",
    "models.readers.library": "from_model",
    "models.tsetlin.machines": "PTMClassifier TMClassifier",
    "population.audit": "Audit",
    "question": "Option Question Status Target",
    "question.cost": "Cost",
    "report": "model_report",
    "report.evidence": "Evidence evidence",
    "report.letter": "Letter ProtectedReasonError letter",
    "report.letter.profiles": "EUProfile USProfile",
    "schema": "AtMost Feature Implication Schema",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_PUBLIC = {*_HOMES, "__version__"}
# The ledger needs an extra. Without it `from trust_recourse import *` imports the other names.
__all__ = sorted(_PUBLIC if find_spec("sqlalchemy") else _PUBLIC - {"Ledger"})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
