"""Folders as a batch writes them: from a model's answers, or from outcomes made up for a law."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from trust_recourse import Feature, Schema
from trust_recourse.certificate import cost_parts
from trust_recourse.question import Question

INCOME = Schema((Feature("income", scale=10.0), Feature("debt", scale=10.0)))


def write(folder, frame, schema, confidence=0.85, parts=1, **told):
    """The rows of an answer table as parts, with a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "kind": "trust-recourse batch", "format": 1,
        "model": {"fingerprint": None, "path": None}, "schema": schema.to_dict(),
        "cost": {"l0": 0.0, "l1": 0.0, "l2": 1.0, "root": True}, "wanted": 1,
        "decision_threshold": 0.5, "question": {"confidence": [confidence]}, "plausible": None,
        "parts": parts, "keep": _kept(frame), **told,
    }  # fmt: skip
    (folder / "_batch.json").write_text(json.dumps(manifest))
    for at, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{at:05d}.parquet", index=False)
    return folder


def _kept(frame):
    """The columns that no answer has."""
    answer = {"row", "status", "reason", "confidence_now", "refused", "changes", "n_changes",
              "cost", "lower_bound", "confidence", "radius", "nodes", "seconds"}  # fmt: skip
    marked = ("from.", "to.")
    return [name for name in frame if name not in answer and not name.startswith(marked)]


def answered(recourse, X, confidence=0.85, kept=None, **settings):
    """The answer table for some people, by `Recourse.find`."""
    rows = []
    for at, (_, x) in enumerate(X.iterrows()):
        result = recourse.find(x, confidence, **settings)
        (status,) = result.status.values()
        row = {"row": at}
        row |= {f"from.{name}": value for name, value in x.items()}
        row |= {"status": str(status), "reason": None, "confidence_now": result.confidence}
        row["refused"] = result.refused
        option = result.options[0] if result.options else None
        row |= {f"to.{name}": None if option is None else option.x[name] for name in X.columns}
        row["changes"] = None if option is None else json.dumps([*option.changes])
        row["n_changes"] = None if option is None else len(option.changes)
        row["cost"] = None if option is None else option.cost
        row["lower_bound"] = None if option is None else option.lower_bound
        row["confidence"] = None if option is None else option.confidence
        rows.append(row | {"radius": None, "nodes": 0, "seconds": 0.0})
    table = pd.DataFrame(rows)
    for name in () if kept is None else kept.columns:
        table.insert(1, name, kept[name].to_numpy())
    return table


def from_answers(folder, recourse, X, confidence=0.85, kept=None, parts=2, path=None, **settings):
    """A folder of a model's answers."""
    table = answered(recourse, X, confidence, kept, **settings)
    cost, functions = cost_parts(recourse.cost)
    return write(
        folder, table, recourse.schema, confidence, parts,
        model={"fingerprint": recourse.model.fingerprint_, "path": path and str(path)},
        cost=cost, cost_functions=functions, wanted=recourse.wanted,
        decision_threshold=recourse.decision_threshold,
        question=Question(confidence=confidence, **settings).to_dict(),
    )  # fmt: skip


def made_up(groups, rng):
    """An answer table from, by group: people, shares refused, without a way, open; mean cost."""
    tables = []
    for name, (people, refused, none, unsure, cost) in groups.items():
        said_no = rng.random(people) < refused
        kind = rng.choice(["optimal", "infeasible", "not_found"], people,
                          p=[1 - none - unsure, none, unsure])  # fmt: skip
        status = np.where(said_no, kind, "already_met").astype(object)
        pays = status == "optimal"
        tables.append(
            pd.DataFrame(
                {
                    "group": name,
                    "from.income": rng.normal(30, 8, people).round(1),
                    "from.debt": 1.0,
                    "status": status,
                    "confidence_now": np.where(said_no, 0.3, 0.9),
                    "refused": said_no,
                    "cost": np.where(pays, rng.gamma(4.0, cost / 4.0, people), np.nan),
                    "n_changes": np.where(pays, 1.0, np.nan),
                }
            )
        )
    table = pd.concat(tables, ignore_index=True)
    table.insert(0, "row", np.arange(len(table)))
    table["to.income"] = np.where(table["status"] == "optimal", table["from.income"] + 1.0, np.nan)
    table["to.debt"] = np.where(table["status"] == "optimal", 1.0, np.nan)
    met = table["status"] == "already_met"
    table.loc[met, ["cost", "n_changes"]] = 0.0
    return table
