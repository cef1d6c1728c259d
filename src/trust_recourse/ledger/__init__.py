"""The ledger: what was promised to whom, whether a new model would break it, whether it was kept.

`ledger` is the front door · `entries` the chain and its times · `seal` and its `pages` prove it ·
`promises` what is stored of a promise · `letters` the check of a letter · `pseudonyms` the key, and
who a promise was made to · `compatibility` what a new model makes of promises · `redemption` what
is found when a person comes back · `formatting` a promise as text · `database` the tables, and the
one file that imports its package.
"""

from trust_recourse.ledger.compatibility import Check as Check
from trust_recourse.ledger.compatibility import Judged as Judged
from trust_recourse.ledger.entries import Entry as Entry
from trust_recourse.ledger.entries import Head as Head
from trust_recourse.ledger.entries import LedgerChangedError as LedgerChangedError
from trust_recourse.ledger.entries import LedgerError as LedgerError
from trust_recourse.ledger.entries import LedgerUnavailableError as LedgerUnavailableError
from trust_recourse.ledger.entries import NoPromiseError as NoPromiseError
from trust_recourse.ledger.entries import PromiseClosedError as PromiseClosedError
from trust_recourse.ledger.entries import Verification as Verification
from trust_recourse.ledger.ledger import Ledger as Ledger
from trust_recourse.ledger.promises import Promise as Promise
from trust_recourse.ledger.redemption import Done as Done
from trust_recourse.ledger.redemption import Redemption as Redemption
