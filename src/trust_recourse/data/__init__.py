"""The table that ships with the package.

Haberman's Survival: 306 patients operated on for breast cancer at the University of Chicago's
Billings Hospital between 1958 and 1970. S. J. Haberman, *Generalized residuals for log-linear
models*, Proceedings of the 9th International Biometrics Conference, 1976, pp. 104–122. UCI Machine
Learning Repository, https://doi.org/10.24432/C5XK51, licensed CC BY 4.0. The columns are renamed
and the class recoded (1 = survived five years or longer, 0 = died within five years); the rows and
their order are the original's.
"""

from __future__ import annotations

from importlib.resources import files

import pandas as pd


def haberman() -> tuple[pd.DataFrame, pd.Series[int]]:
    """Age at operation, year of operation (− 1900), positive axillary nodes; and survival.

    >>> X, y = haberman()
    >>> X.shape, int(y.sum())
    ((306, 3), 225)
    """
    with files(__package__).joinpath("haberman.csv").open(encoding="utf-8") as source:
        table = pd.read_csv(source)
    return table[["age", "year", "nodes"]], table["survived"]
