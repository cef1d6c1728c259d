"""Pictures, each in two parts: `..._info` gathers a frozen value, `draw_...` draws it.

Gathering needs no matplotlib. Drawing takes axes, or makes its own on a figure that no window
knows of; it never shows, closes or changes anything else.
"""

from trust_recourse.answers.plot.audit_plot import AskedInfo as AskedInfo
from trust_recourse.answers.plot.audit_plot import CurvesInfo as CurvesInfo
from trust_recourse.answers.plot.audit_plot import ForestInfo as ForestInfo
from trust_recourse.answers.plot.audit_plot import LevelsInfo as LevelsInfo
from trust_recourse.answers.plot.audit_plot import asked_info as asked_info
from trust_recourse.answers.plot.audit_plot import curves_info as curves_info
from trust_recourse.answers.plot.audit_plot import draw_asked as draw_asked
from trust_recourse.answers.plot.audit_plot import draw_curves as draw_curves
from trust_recourse.answers.plot.audit_plot import draw_forest as draw_forest
from trust_recourse.answers.plot.audit_plot import draw_levels as draw_levels
from trust_recourse.answers.plot.audit_plot import forest_info as forest_info
from trust_recourse.answers.plot.audit_plot import levels_info as levels_info
from trust_recourse.answers.plot.frontier_plot import FrontierInfo as FrontierInfo
from trust_recourse.answers.plot.frontier_plot import draw_frontier as draw_frontier
from trust_recourse.answers.plot.frontier_plot import frontier_info as frontier_info
from trust_recourse.answers.plot.reliability import ReliabilityInfo as ReliabilityInfo
from trust_recourse.answers.plot.reliability import draw_reliability as draw_reliability
from trust_recourse.answers.plot.reliability import reliability_info as reliability_info
from trust_recourse.answers.plot.rule_map import AutomatonInfo as AutomatonInfo
from trust_recourse.answers.plot.rule_map import RuleMapInfo as RuleMapInfo
from trust_recourse.answers.plot.rule_map import automaton_info as automaton_info
from trust_recourse.answers.plot.rule_map import draw_automaton as draw_automaton
from trust_recourse.answers.plot.rule_map import draw_rule_map as draw_rule_map
from trust_recourse.answers.plot.rule_map import rule_map_info as rule_map_info
from trust_recourse.answers.plot.surface import SurfaceInfo as SurfaceInfo
from trust_recourse.answers.plot.surface import draw_surface as draw_surface
from trust_recourse.answers.plot.surface import surface_info as surface_info
from trust_recourse.answers.plot.sweep import SweepInfo as SweepInfo
from trust_recourse.answers.plot.sweep import draw_sweep as draw_sweep
from trust_recourse.answers.plot.sweep import sweep_info as sweep_info
from trust_recourse.answers.plot.waterfall import DuelInfo as DuelInfo
from trust_recourse.answers.plot.waterfall import WaterfallInfo as WaterfallInfo
from trust_recourse.answers.plot.waterfall import draw_duel as draw_duel
from trust_recourse.answers.plot.waterfall import draw_waterfall as draw_waterfall
from trust_recourse.answers.plot.waterfall import duel_info as duel_info
from trust_recourse.answers.plot.waterfall import waterfall_info as waterfall_info
