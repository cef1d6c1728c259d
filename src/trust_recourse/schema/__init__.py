"""What a row means and where it may go: features, relations between them, and Ω(x).

A `Schema` is the only place that knows which values a person's features may take. It reads rows
in people's own values into plain floats (`encode`), back again (`decode`), into words
(`describe`), and says what one person may reach (`action_set`).

Encoded units: a number or integer is itself, a boolean 0 or 1, an ordinal the index of its level,
a category the index of its value, and every missing value NaN.
"""

from __future__ import annotations

from trust_recourse.schema.actions import ActionSet, FeatureActions
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.group_relations import FewChange, OneOf, Together
from trust_recourse.schema.guess.infer import rescaled
from trust_recourse.schema.guess.proposals import Proposal, proposals, proposed
from trust_recourse.schema.relations import AtMost, Implication, Relation
from trust_recourse.schema.relaxations import RelaxedSchema
from trust_recourse.schema.table import Schema

__all__ = [
    "ActionSet",
    "AtMost",
    "Feature",
    "FeatureActions",
    "FewChange",
    "Implication",
    "OneOf",
    "Proposal",
    "Relation",
    "RelaxedSchema",
    "Schema",
    "SchemaError",
    "Together",
    "proposals",
    "proposed",
    "rescaled",
]
