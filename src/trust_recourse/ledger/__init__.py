"""The ledger: what was promised to whom, whether a new model would break it, whether it was kept.

`entries` are the chain · `seal` and its `pages` what proves it · `promises` what is stored of a
promise · `pseudonyms` the key, and who it was made to · `judging` what a model makes of it ·
`telling` a promise in words · `store` the database, and the one file that imports its packages ·
`migrations` how its tables came to be · `book` the front door.
"""

from trust_recourse.ledger.book import Ledger as Ledger
from trust_recourse.ledger.entries import Entry as Entry
from trust_recourse.ledger.entries import Head as Head
from trust_recourse.ledger.entries import LedgerChangedError as LedgerChangedError
from trust_recourse.ledger.entries import LedgerError as LedgerError
from trust_recourse.ledger.entries import LedgerUnavailableError as LedgerUnavailableError
from trust_recourse.ledger.entries import NoPromiseError as NoPromiseError
from trust_recourse.ledger.entries import PromiseClosedError as PromiseClosedError
from trust_recourse.ledger.entries import Verification as Verification
from trust_recourse.ledger.judging import Check as Check
from trust_recourse.ledger.judging import Judged as Judged
from trust_recourse.ledger.promises import Done as Done
from trust_recourse.ledger.promises import Promise as Promise
from trust_recourse.ledger.promises import Redemption as Redemption
