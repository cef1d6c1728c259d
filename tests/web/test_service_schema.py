"""The OpenAPI document against the service: whatever it allows is answered as it says, no 5xx."""

from __future__ import annotations

from collections import defaultdict

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from issuing import KEY
from serving import running
from trust_recourse import Ledger, Recourse, haberman
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine

EXAMPLES = 6  # of each operation and mode
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    model = paper_machine(epochs=2, n_clauses=6, random_state=0).fit(*haberman())
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=KEY)
    # Small limits, so that no question takes long.
    limits = Limits(seconds=0.5, options=3, levels=3, trials=10)
    state = AppState(Recourse(model), ledger=ledger, organisation="A bank", limits=limits)
    with running(state) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


@pytest.mark.parametrize("mode", GenerationMode, ids=str)
def test_every_answer_is_as_the_document_says(document, mode):
    """With what the document allows, and with what it does not."""
    seen = defaultdict(set)
    for found in document.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue  # there is nothing to give, so nothing wrong to give

        @settings(
            max_examples=EXAMPLES,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            answer = case.call_and_validate(checks=CHECKS)
            seen[case.path].add(answer.status_code)

        ask()
    if mode is GenerationMode.POSITIVE:
        assert len(seen) >= 15
        for path in ("/v1/predict", "/v1/recourse", "/v1/ledger/promises"):
            assert seen[path] & {200, 201}, seen
    else:
        assert all(422 in seen[path] for path in ("/v1/predict", "/v1/recourse")), seen
