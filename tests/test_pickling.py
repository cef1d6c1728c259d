"""Whatever a user holds can be pickled and copied, and the copy gives the same answers."""

from __future__ import annotations

import copy
import datetime
import importlib
import inspect
import multiprocessing
import pickle
from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec

import cloudpickle
import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from trust_recourse import (
    Audit,
    Cost,
    EachRow,
    EUProfile,
    Isolation,
    Ledger,
    NearNeighbours,
    PTMClassifier,
    Question,
    Recourse,
    Schema,
    TMClassifier,
    USProfile,
    bootstraps,
    evidence,
    haberman,
    letter,
    model_report,
    testing,
    verify,
)
from trust_recourse.answers import plot
from trust_recourse.io.files import FileError
from trust_recourse.models import Additive, Grid, Kernel, Score, UnreadableError
from trust_recourse.models.readers import scorecard
from trust_recourse.population import batch
from trust_recourse.population.batch import Job
from trust_recourse.report.letter import ProtectedReasonError, UnsignedReviewError
from trust_recourse.report.letter.institution import Institution
from trust_recourse.report.letter.profiles import LateLetterError, MissingFieldsError
from trust_recourse.report.model.calibration_check import reliability_curve
from trust_recourse.schema import FewChange, OneOf, SchemaError, Together, proposals
from trust_recourse.web.state import AppState, Limits

CARD = """feature,from,to,value,points
base,,,,0
nodes,,2,,30
nodes,2,,,-20
age,,50,,5
age,50,,,0
year,,,,0
pdo,,,,20
odds,,,,1
score,,,,10
"""
COPIES = {
    "protocol 2": lambda given: pickle.loads(pickle.dumps(given, 2)),
    "highest protocol": lambda given: pickle.loads(pickle.dumps(given, pickle.HIGHEST_PROTOCOL)),
    "cloudpickle": lambda given: cloudpickle.loads(cloudpickle.dumps(given)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
NOT_HERE = {
    name for name in ("lightgbm", "xgboost", "catboost", "interpret") if not find_spec(name)
}
MACHINES = {
    f"{kind.__name__}, {link}": partial(kind, 10, 20, T=4, epochs=3, link=link, random_state=0)
    for kind in (PTMClassifier, TMClassifier)
    for link in ("margin", "vote", "logistic")
}
GIVEN = {
    "organisation": "A clinic", "contact": "Ann, 555 0100", "valid_until": "2099-01-31",
    "protected_reviewed": ["age"], "reviewed_by": "Jo Doe",
}  # fmt: skip


@cache
def schema():
    made = Schema.infer(haberman()[0]).lock("year").update("nodes", direction="decrease")
    return made.update("age", protected=True, unit="years")


def _lightgbm(**more):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=8, num_leaves=5, min_child_samples=8, n_jobs=1, verbose=-1, **more
    )


def _xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)


def _catboost():
    from catboost import CatBoostClassifier

    settings = {"iterations": 8, "depth": 3, "thread_count": 1, "verbose": False}
    return CatBoostClassifier(**settings, allow_writing_files=False)


def _ebm():
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=0, max_rounds=20, outer_bags=1, n_jobs=1)


def _sklearn(module, name, **settings):
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**settings)


def _pipeline():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression())


def _calibrated():
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(_sklearn("tree", "DecisionTreeClassifier", max_depth=3), cv=2)


UNFITTED = {
    "lightgbm": _lightgbm,
    "lightgbm, three classes": partial(_lightgbm, random_state=1),
    "xgboost": _xgboost,
    "catboost": _catboost,
    "interpret": _ebm,
    "tree": partial(_sklearn, "tree", "DecisionTreeClassifier", max_depth=3),
    "forest": partial(_sklearn, "ensemble", "RandomForestClassifier", n_estimators=8, max_depth=3),
    "gradient boosting": partial(
        _sklearn, "ensemble", "GradientBoostingClassifier", n_estimators=8
    ),
    "histogram": partial(_sklearn, "ensemble", "HistGradientBoostingClassifier", max_iter=8),
    "regression": partial(_sklearn, "linear_model", "LogisticRegression"),
    "pipeline": _pipeline,
    "calibrated": _calibrated,
    **MACHINES,
    "PTMClassifier, calibrated": partial(MACHINES["PTMClassifier, margin"], calibration="isotonic"),
    "PTMClassifier, three classes": MACHINES["PTMClassifier, logistic"],
}
OTHERS = ("additive", "scorecard", "function")
FAMILIES = [name for name in (*UNFITTED, *OTHERS) if name.partition(",")[0] not in NOT_HERE]
every = pytest.mark.parametrize("family", FAMILIES)
each_copy = pytest.mark.parametrize(
    "copied",
    [
        pytest.param(copied, id=name, marks=() if name == "highest protocol" else pytest.mark.slow)
        for name, copied in COPIES.items()
    ],
)


def few_nodes(table):
    """A model that is a function."""
    return 1 / (1 + np.asarray(table["nodes"], float) / 4)


@cache
def fitted(family):
    """A model as its user has it."""
    X, y = haberman()
    if family == "function":
        return few_nodes
    if family == "scorecard":
        return scorecard.read(scorecard.opened(CARD.encode()), schema())[0]
    if family == "additive":
        points = [[0.4, 0.1, -0.6], [-0.2, 0.3], [1.4, 0.6, -0.4, -1.3]]
        return Additive(schema(), [[45, 60], [62], [1, 4, 12]], points)
    model = UNFITTED[family]()
    if "three" in family:
        y = y.where(X["nodes"] < 10, 2)
    with threadpool_limits(1):
        return model.fit(X, y)


@cache
def asked(family):
    """Answers for somebody whom the model refuses."""
    recourse = Recourse(fitted(family), schema(), wanted=1, cost="l1")
    X, _ = haberman()
    said = [recourse.confidence(x) for _, x in X.iterrows()]
    level = min(float(np.quantile(said, 0.7)), 0.95)
    for at in np.argsort(said)[::10]:
        x = X.iloc[at]
        if said[at] < level:
            result = recourse.find(x, level, n_options=2)
            if result.options:
                return result
    raise AssertionError("nobody has an option")


def answers(recourse, result):
    """What a recourse answers to the question of a result, to the last bit."""
    again = recourse.find(result.factual, *result.question.confidence, n_options=2)
    return told(again)


def told(result):
    """A result's numbers, to the last bit."""
    options = [
        (each.x.tolist(), each.changes, each.cost.hex(), each.confidence.hex(), each.status)
        for each in result.options
    ]
    return options, result.confidence.hex(), result.status


def same_numbers(one, other):
    """Whether two models give the same probabilities, to the last bit."""
    X, _ = haberman()
    ask = (lambda m: m(X)) if callable(one) else (lambda m: m.predict_proba(X))
    return np.asarray(ask(one)).tobytes() == np.asarray(ask(other)).tobytes()


@every
@each_copy
def test_a_model_and_its_answers(family, copied):
    result = asked(family)
    recourse, expected = result.recourse, told(result)
    assert same_numbers(fitted(family), copied(fitted(family)))
    assert same_numbers(recourse.model, copied(recourse.model))
    assert answers(copied(recourse), result) == expected
    back = copied(result)
    assert told(back) == expected
    assert answers(back.recourse, back) == expected
    for option, again in zip(result.options, copied(result.options), strict=True):
        assert repr(again) == repr(option)
    if not recourse.exact:
        return
    rows = recourse.schema.encode(haberman()[0])
    score = copied(recourse.score)
    assert score.at_codes(rows).tobytes() == recourse.score.at_codes(rows).tobytes()
    proof = back.certificate(result.options[0].target)
    assert proof.to_json() == copied(proof).to_json()
    assert verify(copied(proof), back.recourse.model)
    assert back.ranges(0).equals(result.ranges(0))
    assert back.robustness(0) == result.robustness(0)
    why = result.explain(0)
    assert copied(why).to_json() == why.to_json() == back.explain(0).to_json()


# ---------------------------------------------------------------- all else


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """An object of every public class, and of those that public functions return."""
    place, named = tmp_path_factory.mktemp("held"), asked("PTMClassifier, logistic")
    with Ledger(place / "promises.db", key="a key for the tests alone") as ledger:
        every = [*_answers(named), *_documents(named), *_pictures(named), *_ledger(ledger, named)]
    every += [*_population(place), *_lasting(), *_questions(), *ERRORS]
    return every


def _answers(result):
    recourse, model = result.recourse, fitted("PTMClassifier, logistic")
    proof = result.certificate(result.options[0].target)
    verdict = verify(proof, recourse.model)
    assert verdict
    yield from (model, fitted("TMClassifier, margin"), recourse, result, result.question)
    yield from (
        result.options[0],
        *result.status,
        *result.status.values(),
        proof,
        proof.problem,
        proof.proof,
    )
    yield from (recourse.score, recourse.score.kernel, recourse.score.grid, verdict)
    level = result.options[0].target.confidence
    both = recourse.find(result.factual, [level, 0.9 * level])
    yield from (result.explain(0), both.compare(0, 1))
    yield from (result.robustness(0), result.max_confidence)
    yield from (asked("forest").explain(0), asked("forest").recourse.library)
    yield from (asked("forest").recourse.model, asked("additive").recourse.model)
    yield asked("PTMClassifier, three classes").recourse.score
    yield asked("lightgbm, three classes").recourse.model
    action_set = schema().action_set(result.factual)
    yield from (schema(), *schema().features, action_set, *action_set.actions)
    yield schema().relaxations(result.factual)[0]
    yield testing.check_cell_model(recourse.model, haberman()[0].head(3))


def _documents(result):
    written = letter(result, **GIVEN)
    X, y = haberman()
    report = model_report(fitted("PTMClassifier, logistic"), X, y, folds=2)
    told = evidence(result, report=report)
    yield from (written, *written.reasons, *written.offers, written.document)
    yield from (report, *report.calibration.values(), *report.protected, told, told.document)
    yield Institution({"organisation": "A clinic", "contact": "Ann"}, reference=X)
    facts = {"address": "1 Main Street", "agency": "an agency", "received": "2026-01-02"}
    yield USProfile(**facts, consumer_report="no")
    yield EUProfile(
        address="Weg 1", role="advises", consequences="none", review="Ann", dpo="Jo",
        authority="Berlin", sources="none",
    )  # fmt: skip


def _pictures(result):
    X, y = haberman()
    why, model = result.explain(0), fitted("PTMClassifier, logistic")
    yield from (plot.waterfall_info(why), plot.rule_map_info(why), plot.duel_info(why, why))
    yield plot.automaton_info(model, 0, model.literals_[0])
    yield from (plot.frontier_info(result), plot.sweep_info(result))
    others = [name for name in X if name not in ("nodes", "age")]
    alone = result.recourse.find(result.factual, *result.question.confidence, lock=others)
    yield plot.surface_info({"option": [alone]}, ("age", "nodes"), size=5)
    curve = reliability_curve(y, model.predict_proba(X)[:, 1])
    yield plot.reliability_info({"model": curve})


def _ledger(ledger, result):
    made = ledger.promise(result, subject="ann")
    checked = ledger.check(result.recourse.model)
    yield from (made, checked, *checked.judged, ledger.head(), *ledger.history(made.id))
    redeemed = ledger.redeem(made.id, result.options[0].x, result.recourse.model)
    yield from (redeemed, redeemed.done, ledger.verify())


def _population(place):
    X, _ = haberman()
    recourse = asked("forest").recourse
    refused = X[[recourse.confidence(x) < 0.5 for _, x in X.iterrows()]]
    refused.head(40).to_csv(place / "people.csv", index=False)
    batch.run(recourse, place / "people.csv", place / "out", 0.5, n_jobs=1)
    audit = Audit.of(place / "out", "year", model=fitted("forest"), sample=3, draws=100)
    yield from (audit, *audit.parts, Job.of(recourse, Question(confidence=(0.7,))))
    yield from (plot.curves_info(audit), plot.forest_info(audit), plot.asked_info(audit))
    asked_again = next(at for at, part in enumerate(audit.parts) if part.sampled)
    yield plot.levels_info(audit, asked_again)


def _lasting():
    X, y = haberman()
    model = fitted("regression")
    recourse = Recourse(model, schema(), cost="l1", bootstraps=bootstraps(model, X, y, 15))
    x = asked("regression").factual
    result = recourse.find(x, 0.6, survives=0.6)
    yield from (recourse.ensemble, recourse.ensemble.models, *result.survival.values())


def _questions():
    X, _ = haberman()
    yield from (Cost.named("l2"), NearNeighbours(X), Isolation(X), EachRow(older), Limits())
    rules = ("nodes changes => age rises by 1", "nodes <= age")
    groups = (FewChange(("age", "nodes"), most=1), Together(("age", "nodes")))
    yield from schema().relate(*rules, *groups).relations
    flags = Schema.infer(pd.DataFrame({"a": [0, 1, 0], "b": [1, 0, 1]}))
    yield from flags.relate(OneOf(("a", "b"))).relations
    years = pd.DataFrame({"job_years": [2, 7]})
    yield from proposals(Schema.infer(years), years)


def older(row):
    return row["age"] >= 18


ERRORS = (
    SchemaError("age: given 1"), FileError("a.csv: no file"), UnreadableError("no model"),
    ProtectedReasonError([Schema.infer(haberman()[0])["age"]]), UnsignedReviewError(["age"]),
    MissingFieldsError("US", ("address",)),
    LateLetterError(datetime.date(2026, 1, 1), datetime.date(2026, 3, 1)),
)  # fmt: skip


def state(thing, seen=()):
    """All that an object holds, in values that are compared by what they are."""
    if id(thing) in seen:
        return "itself"
    if isinstance(thing, (np.ndarray, np.generic)):
        return str(thing.dtype), np.shape(thing), np.asarray(thing).tolist().__repr__()
    if isinstance(thing, (pd.DataFrame, pd.Series, pd.Index)):
        return thing.to_csv() if hasattr(thing, "to_csv") else list(thing)
    if isinstance(thing, (type(None), str, bytes, int, float, type)):
        return repr(thing)
    if inspect.isroutine(thing):
        return thing.__qualname__, state(getattr(thing, "__self__", None), seen)
    seen = (*seen, id(thing))
    if isinstance(thing, Mapping):
        return [(state(key, seen), state(value, seen)) for key, value in thing.items()]
    if isinstance(thing, (list, tuple)):
        return [type(thing).__name__, *(state(each, seen) for each in thing)]
    if isinstance(thing, (set, frozenset)):
        return sorted(map(repr, thing))
    held = thing.__getstate__()
    return type(thing).__name__, held if held is None else state(held, seen)


@each_copy
def test_all_that_is_held(held, copied):
    wrong = {}
    for each in held:
        try:
            if state(copied(each)) != state(each):
                wrong[type(each).__name__] = "other"
        except Exception as error:
            wrong[type(each).__name__] = repr(error)
    assert not wrong


def test_every_public_class_is_tried(held):
    modules = (
        "",
        ".answers.plot",
        ".schema",
        ".models",
        ".population",
        ".ledger",
        ".population.audit",
    )
    tried = {kind for each in held for kind in type(each).__mro__}
    assert {Grid, Kernel, Score} <= tried
    for name in modules:
        module = importlib.import_module(f"trust_recourse{name}")
        listed = getattr(module, "__all__", dir(module))
        kinds = (getattr(module, each) for each in listed)
        public = {each for each in kinds if inspect.isclass(each)}
        public = {each for each in public if each.__module__.startswith("trust_recourse")}
        assert {each.__name__ for each in public - tried} <= NOT_HELD


# a database belongs to one process; these errors have a message alone
NOT_HELD = {
    "Ledger", "CertificateError", "BatchError",
    "TableError", "LedgerError", "LedgerChangedError", "LedgerUnavailableError", "NoPromiseError",
    "PromiseClosedError", "CellModel", "PythonKernel", "TableKernel",
}  # fmt: skip


# ---------------------------------------------------------------- other processes


def answers_there(packed):
    """In another process: the answer to the same question."""
    result = pickle.loads(packed)
    return answers(result.recourse, result)


SENT = [name for name in ("lightgbm", "pipeline", "PTMClassifier, logistic") if name in FAMILIES]


@pytest.mark.slow
def test_a_process_that_knows_nothing_gives_the_same_answers():
    results = [asked(family) for family in SENT]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(answers_there, [pickle.dumps(each) for each in results])
    assert there == [told(each) for each in results]


@pytest.mark.slow
def test_joblib_asks_in_processes():
    result = asked("forest")
    people = [result.factual] * 3
    ask = delayed(result.recourse.find)
    found = Parallel(2)(ask(x, *result.question.confidence, n_options=2) for x in people)
    assert [told(each) for each in found] == [told(result)] * 3


@pytest.mark.parametrize("machine", MACHINES)
def test_scikit_learn_clones_a_machine(machine):
    model = fitted(machine)
    other = sklearn.base.clone(model)
    assert other.get_params() == model.get_params()
    assert same_numbers(model, other.fit(*haberman()))


# ---------------------------------------------------------------- what cannot be


@each_copy
def test_a_ledger_is_opened_again_and_not_copied(tmp_path, copied):
    with (
        Ledger(tmp_path / "promises.db", key="a key for the tests alone") as ledger,
        pytest.raises(TypeError, match=r"given a Ledger.*promises\.db.*open it again: Ledger\("),
    ):
        copied(ledger)


@each_copy
def test_a_service_is_made_again_and_not_copied(copied):
    with pytest.raises(TypeError, match=r"given an AppState.*make it again: AppState\("):
        copied(AppState(asked("forest").recourse))
