"""Pictures, each in two parts: `..._info` gathers a frozen value, `draw_...` draws it.

Gathering needs no matplotlib. Drawing takes axes, or makes its own on a figure that no window
knows of; it never shows, closes or changes anything else.
"""

from trust_recourse.plot.frontier import FrontierInfo as FrontierInfo
from trust_recourse.plot.frontier import draw_frontier as draw_frontier
from trust_recourse.plot.frontier import frontier_info as frontier_info
from trust_recourse.plot.projection import ProjectionInfo as ProjectionInfo
from trust_recourse.plot.projection import draw_projection as draw_projection
from trust_recourse.plot.projection import projection_info as projection_info
from trust_recourse.plot.reliability import ReliabilityInfo as ReliabilityInfo
from trust_recourse.plot.reliability import draw_reliability as draw_reliability
from trust_recourse.plot.reliability import reliability_info as reliability_info
from trust_recourse.plot.surface import SurfaceInfo as SurfaceInfo
from trust_recourse.plot.surface import draw_surface as draw_surface
from trust_recourse.plot.surface import surface_info as surface_info
from trust_recourse.plot.sweep import SweepInfo as SweepInfo
from trust_recourse.plot.sweep import draw_sweep as draw_sweep
from trust_recourse.plot.sweep import sweep_info as sweep_info
