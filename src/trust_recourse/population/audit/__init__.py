"""The audit of a whole population, by group.

`folder` reads what a batch wrote, `groups` says who belongs together, `counts` counts, `intervals`
says how sure it is, `sampled_search` asks the model more, and `gather` puts it together.
"""

from trust_recourse.population.audit.gather import Audit as Audit
