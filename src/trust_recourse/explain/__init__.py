"""Why: a change between two points, split over features and what a model is made of."""

from __future__ import annotations

from trust_recourse.explain.comparison import Comparison as Comparison
from trust_recourse.explain.comparison import Measured as Measured
from trust_recourse.explain.explanation import FRAGILE as FRAGILE
from trust_recourse.explain.explanation import STILL as STILL
from trust_recourse.explain.explanation import Explanation as Explanation
from trust_recourse.explain.explanation import Mover as Mover
from trust_recourse.explain.explanation import Place as Place
from trust_recourse.explain.explanation import Places as Places
from trust_recourse.explain.explanation import depends as depends
from trust_recourse.explain.explanation import explain as explain
from trust_recourse.explain.explanation import explainable as explainable
from trust_recourse.explain.explanation import places as places
from trust_recourse.explain.points import NAMED as NAMED
from trust_recourse.explain.points import RulePlaces as RulePlaces
from trust_recourse.explain.points import Tightening as Tightening
from trust_recourse.explain.rules import RuleExplanation as RuleExplanation
from trust_recourse.explain.shares import Shares as Shares
from trust_recourse.explain.shares import feature_shares as feature_shares
from trust_recourse.explain.shares import split as split
from trust_recourse.explain.terms import TermExplanation as TermExplanation
