"""A whole population: everybody in a file is answered, on one machine or on a Dask cluster.

`run` writes a folder, `read` and `parts` read it, `check` goes through it, `reasons` says why
somebody has no answer. `answer` is the unit of work, a pure function from frame to frame that runs
under any engine.
"""

from trust_recourse.io.tables import TableError as TableError
from trust_recourse.population.batch.answer import Job as Job
from trust_recourse.population.batch.answer import answer as answer
from trust_recourse.population.batch.batch_folder import BatchError as BatchError
from trust_recourse.population.batch.batch_folder import check as check
from trust_recourse.population.batch.batch_folder import manifest as manifest
from trust_recourse.population.batch.batch_folder import parts as parts
from trust_recourse.population.batch.batch_folder import read as read
from trust_recourse.population.batch.batch_folder import reasons as reasons
from trust_recourse.population.batch.run import run as run
