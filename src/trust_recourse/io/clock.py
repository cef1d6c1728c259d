"""What time it is. The library asks here and nowhere else, so that a test can set it.

Call it as `clock.now()`, through the module.
"""

from __future__ import annotations

import datetime


def now() -> datetime.datetime:
    """Return this moment, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def today() -> datetime.date:
    """Return the date here."""
    return now().astimezone().date()
