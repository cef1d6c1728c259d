"""A kind of relation is one class: kinds of our own here, which nothing else has heard of."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trust_recourse import AtMost, Feature, Implication, Recourse, Schema, verify
from trust_recourse.question import Status, Target
from trust_recourse.schema import Relation, SchemaError
from trust_recourse.schema.relations import NAME, quoted, unquoted
from trust_recourse.search import BLACK_BOX, branch_and_bound, formulation
from worlds import enumerated, machine, person_schema

law = settings(max_examples=80)


@dataclass(frozen=True, repr=False)
class Together(Relation):
    """Several features, however many, add up to at most so much."""

    terms: tuple[str, ...]
    most: float

    forms = ("a + b + c <= 5",)
    pattern = re.compile(rf"\s*{NAME}((?:\s*\+\s*{NAME})+)\s*<=\s*(\d+)\s*")

    @classmethod
    def read(cls, match):
        names = re.findall(NAME, match[1] + match[2])
        return cls(tuple(map(unquoted, names)), float(match[4]))

    def __repr__(self):
        return f"{' + '.join(map(quoted, self.terms))} <= {self.most:g}"

    @property
    def names(self):
        return self.terms

    def holds(self, before, after):
        return not math.fsum(after) > self.most

    def sentence(self, schema):
        titles = " and ".join(schema[name].title for name in self.names)
        return f"{titles} must be at most {self.most:g} together"

    def ways(self, before, box):
        first, *rest = box
        yield [self.most - first, *(-codes for codes in rest)]


@dataclass(frozen=True, repr=False)
class Apart(Relation):
    """Two features must not be equal. What is compulsory, and nothing else."""

    a: str
    b: str

    forms = ("a != b",)
    pattern = re.compile(rf"\s*{NAME}\s*!=\s*{NAME}\s*")

    @classmethod
    def read(cls, match):
        return cls(unquoted(match[1]), unquoted(match[2]))

    def __repr__(self):
        return f"{quoted(self.a)} != {quoted(self.b)}"

    @property
    def names(self):
        return self.a, self.b

    def holds(self, before, after):
        return after[0] != after[1]

    def sentence(self, schema):
        return f"{schema[self.a].title} must not be {schema[self.b].title}"


TEXTS = ("rate + count <= 3", "count + job + rate <= 2", "job != count")


def asked(seed, text, rank=0.9):
    model, X, rng = machine(seed)
    schema = person_schema(model, rng, relations=False).relate(text)
    recourse = Recourse(model, schema, "l1")
    x = X.iloc[int(rng.integers(len(X)))]
    codes, costs, p = enumerated(recourse, x)
    level = float(np.clip(np.quantile(p, rank, method="nearest"), 0.001, 0.999))
    return recourse, x, level, codes, costs, p


def test_a_kind_of_ones_own_is_read_written_and_told(tmp_path):
    schema = Schema(tuple(Feature(name, "integer") for name in ("a", "b c", "d")))
    related = schema.relate("a + `b c` + d <= 5", "a != d")
    assert related.relations == (Together(("a", "b c", "d"), 5.0), Apart("a", "d"))
    related.to_yaml(tmp_path / "schema.yaml")
    assert Schema.from_yaml(tmp_path / "schema.yaml") == related
    assert Schema.from_dict(related.to_dict()) == related
    action_set = related.action_set({"a": 1, "b c": 2, "d": 2})
    assert action_set.allows([0, 1, 3])
    assert action_set.why_not([3, 2, 3]) == (
        "a and b c and d must be at most 5 together",
        "a must not be d",
    )
    with pytest.raises(SchemaError, match=re.escape("'a + b + c <= 5' or 'a != b'; quote names")):
        schema.relate("a ~ d")
    with pytest.raises(SchemaError, match="relation a != e: no feature 'e'"):
        schema.relate("a != e")


@pytest.mark.parametrize(
    "few", [0, formulation.FEW_GAINS]
)  # by the peak of the gains, or one by one
@pytest.mark.parametrize("text", [*TEXTS, "rate <= count"])
def test_exact_equals_enumeration_under_it_and_its_certificate_is_confirmed(text, few, monkeypatch):
    monkeypatch.setattr(branch_and_bound, "DIVE_FROM", 0)
    monkeypatch.setattr(formulation, "FEW_GAINS", few)
    judged = Counter()

    @law
    @given(seed=st.integers(0, 10**6), rank=st.floats(0, 1))
    def check_one(seed, rank):
        recourse, x, level, _, costs, p = asked(seed, text, rank)
        result = recourse.find(x, level)
        (option,) = result.options
        assert option.cost == pytest.approx(costs[Target(level).interval[0] <= p].min(), abs=1e-9)
        free = Recourse(recourse.model, replace(recourse.schema, relations=()), "l1")
        judged["dearer"] += option.cost > free.find(x, level).options[0].cost + 1e-9
        enough = judged["certified"] >= 5 and judged["by relation"]
        if option.status is Status.OPTIMAL and not enough:
            certificate = result.certificate()
            found = verify(certificate, recourse.model, schema=recourse.schema, x=x)
            judged["by relation"] += found.leaves["relation"]
            judged["certified"] += 1

    check_one()
    assert judged["certified"] >= 5
    assert judged["dearer"] > 0, "the relation forbade an answer"
    if "!=" not in text:  # which gives the search nothing to discard by
        assert judged["by relation"] > 0, "boxes were discarded by the relation"


@pytest.mark.parametrize("engine", BLACK_BOX)
@pytest.mark.parametrize("text", TEXTS)
def test_engines_by_trial_stay_within_it(engine, text):
    found = 0
    for seed in range(6):
        recourse, x, level, codes, *_ = asked(seed, text, rank=0.7)
        result = recourse.find(x, level, engine=engine, n_trials=30, random_state=seed)
        rows = {row.tobytes() for row in codes}
        for option in result.options:
            assert recourse.schema.encode(option.x)[0].tobytes() in rows
            found += 1
    assert found > 3


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_lifted_where_it_forbids_something(text):
    judged = Counter()
    for seed in range(40):
        recourse, x, *_ = asked(seed, text)
        schema = recourse.schema
        bound = schema.action_set(x)
        free = replace(schema, relations=()).action_set(x)
        rows = itertools.product(*(actions.values() for actions in free.actions))
        limits = any(free.allows(row) and not bound.allows(row) for row in rows)
        lifted = [each.sentence for each in schema.relaxations(x)]
        assert limits == (any(each.startswith("it were not required") for each in lifted))
        judged[limits] += 1
    assert judged[True] > 5


# ---------------------------------------------------------------- every kind on boxes


def codes(rng, own):
    """Codes of one feature in order, the own one among them; a missing one comes last."""
    return np.unique([own, *rng.integers(-4, 5, rng.integers(1, 6))])


@pytest.mark.parametrize(
    "relation",
    [
        AtMost("a", "b"),
        Implication("a", "b", 1),
        Implication("a", "b", -2),
        Together(("a", "b"), 1.0),
    ],
    ids=str,
)
def test_what_a_search_knows_of_a_kind_is_what_it_says_of_each_row(relation):
    judged = Counter()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        blank = isinstance(relation, (AtMost, Implication))
        before = [
            math.nan if blank and rng.random() < 0.2 else float(rng.integers(-4, 5)) for _ in "ab"
        ]
        box = [codes(rng, own) for own in before]
        parts = [part(rng, each) for each in box]
        kept = any(relation.holds(before, row) for row in itertools.product(*parts))
        assert relation.possible(before, parts) == kept
        ways = [*relation.ways(before, box)]
        if ways:
            held = [inside(*pair) for pair in zip(box, parts, strict=True)]
            best = [sum(g[h].max() for g, h in zip(way, held, strict=True)) for way in ways]
            assert (max(best) >= 0) == kept
        judged[kept] += 1
    assert min(judged[True], judged[False]) > 20


def part(rng, each):
    first, last = sorted(rng.integers(0, len(each), 2))
    return each[first : last + 1]


def inside(each, some):
    return np.isin(each, some) | (np.isnan(each) & np.isnan(some).any())
