"""The forms in which tables write dates and amounts as text: no feature reads them as such."""

from __future__ import annotations

import re
from collections.abc import Collection

_MONTH, _DAY, _YEAR = "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])", "(18|19|20|21)[0-9]{2}"
_NAMED = "(jan|feb|m[aä]r|apr|ma[iy]|june?|july?|aug|sep|o[ck]t|nov|de[cz])[a-zä]*[.]?"
_CLOCK = "([T ][0-9]{1,2}:[0-9]{2}.*)?"
DATE = re.compile(
    f"({_YEAR}[-/.]{_MONTH}([-/.]{_DAY})?|{_DAY}[.]{_MONTH}[.]{_YEAR}|{_MONTH}[-/.]{_YEAR}"
    f"|({_DAY}[-/]{_MONTH}|{_MONTH}[-/]{_DAY})[-/]{_YEAR}"
    f"|({_DAY}[.]?[- ])?{_NAMED}( {_DAY},)?[- ]{_YEAR}){_CLOCK}",
    re.IGNORECASE,
)
_CURRENCY = "([€$£¥]|(eur|usd|gbp|chf|dm|euros?|dollars?)[.]?)"
_DIGITS = r"[0-9]+([.,' \u00a0\u202f’][0-9]+)*([.,](-|–|—)+)?"
AMOUNT = re.compile(rf"[-+−]?({_CURRENCY} *)?[-+−]?{_DIGITS}( *{_CURRENCY})?", re.IGNORECASE)


def dates(words: Collection[str]) -> bool:
    """Whether all words are dates: days or months of a year.

    >>> dates(["2023-01", "2023-12"]), dates(["15.01.2023"]), dates(["Dec-2015"])
    (True, True, True)
    >>> dates(["2023-24"]), dates(["1.2.3"]), dates(["10-20"]), dates([])
    (False, False, False, False)
    """
    return bool(words) and all(map(DATE.fullmatch, words))


def amounts(words: Collection[str]) -> bool:
    """Whether all words are numbers, with a currency or marks of thousands.

    >>> amounts(["41.100 €", "900 €"]), amounts(["$41,100"]), amounts(["1.234,50 EUR"])
    (True, True, True)
    >>> amounts(["BW-41100"]), amounts(["41,100 m"]), amounts([])
    (False, False, False)
    """
    return bool(words) and all(map(AMOUNT.fullmatch, words))
