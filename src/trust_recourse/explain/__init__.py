"""Why: the change in confidence between two points, split over features, clauses and automata."""

from __future__ import annotations

from trust_recourse.explain.comparison import Comparison as Comparison
from trust_recourse.explain.comparison import Measured as Measured
from trust_recourse.explain.explanation import Explanation as Explanation
from trust_recourse.explain.explanation import explain as explain
from trust_recourse.explain.points import FRAGILE as FRAGILE
from trust_recourse.explain.points import NAMED as NAMED
from trust_recourse.explain.points import Place as Place
from trust_recourse.explain.points import Places as Places
from trust_recourse.explain.points import Tightening as Tightening
from trust_recourse.explain.points import places as places
from trust_recourse.explain.shares import Shares as Shares
from trust_recourse.explain.shares import split as split
