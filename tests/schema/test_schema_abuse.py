"""A schema from a stranger: short files that ask for endless work, and ones that are no schema."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trust_recourse.schema import Feature, Schema, SchemaError
from trust_recourse.schema.yaml_text import MOST_BYTES, MOST_DEEP, MOST_NODES

# The packages are loaded before the limits are set, so that only the reading counts.
READ = """
import resource, sys
from trust_recourse.schema import Schema, SchemaError

seconds, memory, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_CPU, (int(used) + 1 + seconds,) * 2)
resource.setrlimit(resource.RLIMIT_AS, (held + memory,) * 2)
try:
    Schema.from_yaml(path)
except SchemaError as error:
    sys.stdout.write(str(error))
"""


def refusal(path, seconds=20, memory=400 << 20):
    """What a process with little time and memory says of a schema; it must be short."""
    given = [sys.executable, "-c", READ, str(seconds), str(memory), str(path)]
    told = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr[-500:]
    assert told.stdout.startswith(f"{path}: ")
    assert len(told.stdout) < 2000
    return told.stdout.removeprefix(f"{path}: ")


def laughs(levels):
    """A value that stands for ten of the one before it, and so on."""
    lines = [f"l0: &l0 [{', '.join(['ha'] * 10)}]"]
    lines += [f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 10)}]" for at in range(1, levels)]
    return "\n".join([*lines, f"features: *l{levels - 1}"])


def merges(levels):
    """Mappings that each take up the one before them, twice."""
    lines = ["m0: &m0 {a: 1}"]
    lines += [
        f"m{at}: &m{at} {{!!merge x: [{', '.join([f'*m{at - 1}'] * 10)}]}}"
        for at in range(1, levels)
    ]
    return "\n".join([*lines, "features: []"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (laughs(10), "line 1: an anchor or alias, which is not read here"),
        (merges(10), "line 1: an anchor or alias, which is not read here"),
        ("{" + ", ".join(f"k{at}: 1" for at in range(30_000)) + "}", "expected a list of features"),
        ("features: [" + "a, " * MOST_NODES + "a]", f"more than {MOST_NODES:,} values"),
        ("features: " + "[" * 100_000, f"nested more than {MOST_DEEP} deep"),
        ("- " * 100_000, f"nested more than {MOST_DEEP} deep"),
        ("features:\n- name: " + "x" * MOST_BYTES, f"more than {MOST_BYTES:,} bytes"),
        ("features: " + "x" * (MOST_BYTES // 2), "expected a list of features"),
        ("features: [{name: age, lower: " + "x" * (MOST_BYTES // 2) + "}]", "'age', field 'lower'"),
        ("features: [" + "x" * (MOST_BYTES // 2) + "]", "feature 1: given 'xxx"),
        ("features: [{name: a, ? " + "x" * (MOST_BYTES // 2) + " : 1}]", "field 'xxx"),
        ("features: [{name: a}]\n" + "x" * 1000 + ": 1", "unknown entry"),
        ("features: [{name: a}]\nrelations: [" + "x" * (MOST_BYTES // 2) + "]", "relation: given"),
        ("features: [{name: a}]\nrelations: " + "x" * (MOST_BYTES // 2), "relations: given 'xxx"),
        ("%TAG !" + "x" * (MOST_BYTES // 2) + "! a\n" * 2, "not YAML"),
    ],
    ids=lambda given: given[:20] if len(given) < 100 else "text",
)  # fmt: skip
def test_a_text_that_asks_for_endless_work_is_refused_in_a_short_sentence(tmp_path, text, words):
    path = tmp_path / "loan.yaml"
    path.write_text(text)
    assert words in refusal(path)


def test_long_names_that_nearly_match_are_refused_as_fast(tmp_path):
    """Letters that each stand in many places are the worst for whoever compares two texts."""
    path, letters = tmp_path / "loan.yaml", "".join(map(chr, range(0x4E00, 0x4E00 + 500))) * 150
    path.write_text(
        f"features: [{{name: a}}, {{name: {letters}}}]\nrelations: ['a <= {letters}b']",
        encoding="utf-8",
    )
    assert "relation a <= 一丁" in refusal(path)


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_has_no_end_is_no_schema(tmp_path, kind):
    path = "/dev/zero"
    if kind == "pipe":
        path = tmp_path / "loan.yaml"
        os.mkfifo(path)
    assert "not a file" in refusal(path)


@pytest.mark.parametrize(
    "value",
    [
        "!!bool x", '!!int ""', "!!float x", "!!timestamp x", "!!binary x", "!!null x", "!!set {a}",
        "!!omap [a: 1]", "!!pairs [a]", "!!python/name:os.system", "!!python/object/new:dict []",
        "!own x", "! x", "!!str x", "&a x", "*a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", ["features:\n- name: {}", "{}", "features: [{{{}: 1}}]"])
def test_a_tag_an_anchor_or_an_alias_is_refused(tmp_path, text, value):
    path = tmp_path / "loan.yaml"
    path.write_text(text.format(value))
    with pytest.raises(SchemaError, match=r"loan\.yaml: not YAML.*not read here"):
        Schema.from_yaml(path)


@pytest.mark.parametrize(
    "value", ["1" * 400, "-" + "9" * 4000, "1" * 5000, "1e999", "1" * 400 + ".5", "2024-01-01"]
)
@pytest.mark.parametrize(
    "field", ["lower: {}", "scale: {}", "missing: [{}]", "{{kind: ordinal, values: [1, {}]}}"]
)
def test_a_number_that_is_none_is_refused(tmp_path, field, value):
    path, field = tmp_path / "loan.yaml", field.format(value).strip("{}")
    path.write_text(f"features: [{{name: age, {field}}}]")
    with pytest.raises(SchemaError) as refused:
        Schema.from_yaml(path)
    assert len(str(refused.value)) < 1200


@pytest.mark.parametrize(
    "text",
    [
        "features: [{name: a}]\nfeatures: [{name: b}]",
        'features: [{name: a, "name": b}]',
        "features:\n- name: a\n  lower: 1\n  lower: 2",
    ],
)
def test_a_key_given_twice_is_refused(tmp_path, text):
    path = tmp_path / "loan.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError, match="is given twice in the entry at line"):
        Schema.from_yaml(path)


def test_what_is_written_can_be_read_or_is_not_written(tmp_path):
    """The limits are wide enough for any schema that is written, which shares no values."""
    levels, path = tuple(map(str, range(20_000))), tmp_path / "loan.yaml"
    pair = (Feature("a", "ordinal", values=levels), Feature("b", "ordinal", values=levels))
    schema = Schema(pair, ("a <= b",))
    assert not {"&", "*", "!"} & set(schema.to_yaml(path).partition("features:")[2])
    assert Schema.from_yaml(path) == schema
    with pytest.raises(SchemaError, match=f"expected at most {MOST_BYTES:,}"):
        Schema((Feature("a" * MOST_BYTES),)).to_yaml(tmp_path / "other.yaml")
    assert not (tmp_path / "other.yaml").exists()
