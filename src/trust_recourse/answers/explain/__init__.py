"""Why: a change between two points, split over features and what a model is made of."""

from __future__ import annotations

from trust_recourse.answers.explain.comparison import Comparison as Comparison
from trust_recourse.answers.explain.comparison import Measured as Measured
from trust_recourse.answers.explain.explanation import FRAGILE as FRAGILE
from trust_recourse.answers.explain.explanation import STILL as STILL
from trust_recourse.answers.explain.explanation import Explanation as Explanation
from trust_recourse.answers.explain.explanation import Mover as Mover
from trust_recourse.answers.explain.explanation import Place as Place
from trust_recourse.answers.explain.explanation import Places as Places
from trust_recourse.answers.explain.explanation import Shares as Shares
from trust_recourse.answers.explain.explanation import depends as depends
from trust_recourse.answers.explain.explanation import explain as explain
from trust_recourse.answers.explain.explanation import explainable as explainable
from trust_recourse.answers.explain.explanation import grids as grids
from trust_recourse.answers.explain.explanation import places as places
from trust_recourse.answers.explain.rules import NAMED as NAMED
from trust_recourse.answers.explain.rules import RuleExplanation as RuleExplanation
from trust_recourse.answers.explain.rules import RulePlaces as RulePlaces
from trust_recourse.answers.explain.rules import feature_shares as feature_shares
from trust_recourse.answers.explain.rules import split as split
