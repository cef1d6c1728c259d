"""The audit of a whole population, by group.

`folder` reads what a batch wrote, `groups` says who belongs together, `tally` counts, `chance` says
how sure it is, `deeper` asks the model more, and `gather` puts it together.
"""

from trust_recourse.audit.gather import Audit as Audit
