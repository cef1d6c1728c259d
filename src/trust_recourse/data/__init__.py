"""The tables that ship with the package; nothing is downloaded.

**Haberman's Survival**: 306 patients operated on for breast cancer at the University of Chicago's
Billings Hospital between 1958 and 1970. S. J. Haberman, *Generalized residuals for log-linear
models*, Proceedings of the 9th International Biometrics Conference, 1976, pp. 104–122. UCI Machine
Learning Repository, https://doi.org/10.24432/C5XK51, licensed CC BY 4.0. The columns are renamed
and the class recoded (1 = survived five years or longer, 0 = died within five years); the rows and
their order are the original's.

**German credit** (Statlog): 1,000 loans of a bank in southern Germany. H. Hofmann, 1994. UCI
Machine Learning Repository, https://doi.org/10.24432/C5NC77, licensed CC BY 4.0. The columns are
named and the codes written out in words after its code book, shortened, and the class is recoded
(1 = good risk, 0 = bad); the rows and their order are the original's. U. Grömping, *South German
Credit Data: Correcting a Widely Used Data Set*, Report 4/2019, Beuth University of Applied Sciences
Berlin, shows that the code book is wrong in places: the words are good for trying things out, not
for conclusions about people.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

from trust_recourse.schema import Schema

# the ordered columns of German credit, from low to high; elsewhere words have no order
GERMAN_LEVELS = {
    "checking": ("< 0 DM", "0 to 200 DM", "≥ 200 DM", "none"),
    "savings": ("< 100 DM", "100 to 500 DM", "500 to 1000 DM", "≥ 1000 DM", "unknown or none"),
    "employment": ("unemployed", "< 1 year", "1 to 4 years", "4 to 7 years", "≥ 7 years"),
    "property": (
        "unknown or none",
        "car or other",
        "building society or life insurance",
        "real estate",
    ),
    "job": (
        "unskilled, non-resident",
        "unskilled",
        "skilled",
        "management or highly qualified",
    ),
}


def haberman() -> tuple[pd.DataFrame, pd.Series[int]]:
    """Age at operation, year of operation (− 1900), positive axillary nodes; and survival.

    >>> X, y = haberman()
    >>> X.shape, int(y.sum())
    ((306, 3), 225)

    The table is S. J. Haberman's (1976), UCI Machine Learning Repository,
    https://doi.org/10.24432/C5XK51, licensed CC BY 4.0.
    """
    table = _table("haberman.csv")
    return table[["age", "year", "nodes"]], table["survived"]


def german_credit() -> tuple[pd.DataFrame, pd.Series[int]]:
    """1,000 applicants for a loan, 20 columns of all kinds; and whether they were a good risk.

    `german_credit_schema()` says what an applicant may change. Amounts are in Deutsche Mark.

    >>> X, y = german_credit()
    >>> X.shape, int(y.sum())
    ((1000, 20), 700)
    >>> X["savings"].dtype.ordered, X["purpose"].iloc[0]
    (True, 'radio or television')

    The table is H. Hofmann's (1994), Statlog (German Credit Data), UCI Machine Learning Repository,
    https://doi.org/10.24432/C5NC77, licensed CC BY 4.0. Its code book is known to be wrong in
    places (U. Grömping, Report 4/2019, Beuth University of Applied Sciences Berlin).
    """
    table = _table("german_credit.csv")
    for name, levels in GERMAN_LEVELS.items():
        table[name] = table[name].astype(pd.CategoricalDtype(list(levels), ordered=True))
    good = table.pop("good")
    return table, good


def german_credit_schema() -> Schema:
    """What an applicant of `german_credit` may change, as one lender might see it.

    Personal status with sex, and being a foreign worker, are protected: known to the audit, never
    advice. `trust-recourse data loans.csv --name german-credit --schema loans.yaml` writes it as a
    file to edit.

    >>> german_credit_schema()["age"].max_change
    5.0
    """
    with as_file(files(__package__).joinpath("german_credit.yaml")) as path:
        return Schema.from_yaml(path)


def _table(name: str) -> pd.DataFrame:
    with files(__package__).joinpath(name).open(encoding="utf-8") as source:
        return pd.read_csv(source, keep_default_na=False)
