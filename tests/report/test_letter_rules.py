"""What the profiles of the letter must say, item by item, as docs/letter-rules.md lists them."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import httpx
import pandas as pd
import pytest
from pypdf import PdfReader
from typer.testing import CliRunner

from serving import running
from trust_recourse import (
    EUProfile,
    Feature,
    Ledger,
    ProtectedReasonError,
    Recourse,
    Schema,
    USProfile,
    evidence,
    letter,
)
from trust_recourse.cli import app
from trust_recourse.io import clock
from trust_recourse.io.wording import floored, unbroken
from trust_recourse.ledger import LedgerError, PromiseClosedError
from trust_recourse.ledger.letters import check_letter
from trust_recourse.models import Additive
from trust_recourse.question import Status
from trust_recourse.report.content import TableBlock
from trust_recourse.report.language import ENGLISH
from trust_recourse.report.letter.institution import Institution
from trust_recourse.report.letter.phrasing import Wording
from trust_recourse.report.letter.profiles import LateLetterError, MissingFieldsError, profile_of
from trust_recourse.report.letter.reason_codes import ReasonCodes
from trust_recourse.report.letter.reasons import Reason, principal
from trust_recourse.web.state import AppState

PAGE = Path(__file__).parents[2] / "docs" / "letter-rules.md"
GIVEN = {
    "organisation": "Meadow Bank", "contact": "Ann Lee, 555 0100", "valid_until": "2097-01-31",
    "dated": "2096-11-15", "person": "Maria Example",
}  # fmt: skip
SHARED = {name: GIVEN[name] for name in ("organisation", "contact", "valid_until")}
FILED = {**SHARED, "person": GIVEN["person"]}
US = {
    "address": "1 Main Street, Springfield, IL 62701",
    "agency": "Federal Trade Commission, Washington, DC 20580",
    "received": "2096-11-01",
    "consumer_report": "yes",
    "bureau": "Example Bureau",
    "bureau_address": "PO Box 1, Anytown, TX 75013",
    "bureau_telephone": "1-800-555-0100",
    "score": 612,
    "score_low": 300,
    "score_high": 850,
    "score_date": "2096-11-02",
    "score_factors": ("Amounts owed are high", "Short history of credit"),
}
EU = {
    "address": "Wiesenweg 1, 10115 Berlin",
    "role": "decides",
    "consequences": "No loan is made; you may apply again at any time.",
    "review": "Ann Lee, review@meadow.example",
    "dpo": "Jo Doe, dpo@meadow.example",
    "authority": "Berliner Beauftragte für Datenschutz, 10555 Berlin",
    "sources": "Example Bureau",
}
SCORE = [name for name in US if name.startswith("score")]


def of_today():
    """The dates of a letter that goes out today; never of the day on which the run began."""
    return {"dated": clock.today(), "valid_until": clock.today() + datetime.timedelta(30)}


def asked_today():
    return {**US, "received": clock.today(), "score_date": clock.today()}


def flat(printed):
    return " ".join(printed.text().split())


@cache
def world():
    """A card of points, its applicants, and the answers for one whom it refuses."""
    schema = Schema(
        (
            Feature("age", "integer", lower=18, upper=90, unit="years", protected=True),
            Feature("income", "integer", lower=0, upper=200_000, step=1000, unit="NT$",
                    label="yearly income"),
            Feature("debt", lower=0, upper=4, scale=4.0, label="debts by income"),
            Feature("home", "category", values=("own", "rent"), mutable=False, label="housing"),
            Feature("job", "integer", lower=0, upper=40, unit="years", label="time in the job"),
            Feature("calls", "integer", lower=0, upper=9, label="calls", mutable=False),
        )
    )  # fmt: skip
    edges = [[24], [80_000, 120_000], [0.949999988079071, 2.0], [], [2, 6], [4]]
    points = [[0.0, 0.1], [-0.6, 0.0, 0.9], [0.6, 0.1, -0.7], [0.3, -0.2], [-0.4, 0.0, 0.4], [0, 0]]
    recourse = Recourse(Additive(schema, edges, points, base=0.1), schema)
    X = pd.DataFrame(
        [
            (20 + 7 * a, 60_000 + 20_000 * b, 0.5 + 0.8 * c, ("own", "rent")[d], 4 * e, 1)
            for a in range(3) for b in range(5) for c in range(4) for d in range(2)
            for e in range(3)
        ],
        columns=schema.names,
    )  # fmt: skip
    person = {"age": 40, "income": 70_000, "debt": 2.5, "home": "rent", "job": 1, "calls": 1}
    return recourse, X, recourse.find(person, [0.5, 0.7])


@cache
def written(profile, language="en", **more):
    _, X, result = world()
    fields = {"us": US, "eu": EU}.get(profile, {})
    made = profile_of(profile, {**fields, **more})
    compared = {"reference": X}
    if profile == "plain":
        compared = {"protected_reviewed": ["age"], "reviewed_by": "Jo Doe"}
    return letter(result, **GIVEN, **compared, profile=made, language=language)


# ---------------------------------------------------------------- the checklist

ITEMS = {
    "us": {
        "action": "We are unable to approve your application.",
        "creditor": "Meadow Bank, 1 Main Street, Springfield, IL 62701 November 15, 2096",
        "notice": "The Federal Equal Credit Opportunity Act prohibits creditors from "
        "discriminating against credit applicants on the basis of race, color, religion, national "
        "origin, sex, marital status, age (provided the applicant has the capacity to enter into "
        "a binding contract); because all or part of the applicant’s income derives from any "
        "public assistance program; or because the applicant has in good faith exercised any "
        "right under the Consumer Credit Protection Act.",
        "agency": "The Federal agency that administers compliance with this law concerning this "
        "creditor is Federal Trade Commission, Washington, DC 20580.",
        "reasons": "1. debts by income: 2.5. Usual among them: 1.3. 2. yearly income: NT$70,000. "
        "Usual among them: NT$100,000.",
        "compared": "We compared you with the 100 applicants whom the model accepts with the least "
        "to spare.",
        "dates": "We received your completed application on November 1, 2096; this notice is dated "
        "November 15, 2096.",
        "score": "We used a credit score, which Example Bureau gave us: 612.",
        "range": "Scores of this kind range from 300 to 850.",
        "factors": "The key factors that lowered it: 1. Amounts owed are high 2. Short history of "
        "credit",
        "created": "It was created on November 2, 2096.",
        "source": "which Example Bureau gave us",
        "bureau": "Our decision rests in whole or in part on a report from this consumer reporting "
        "agency: Example Bureau, PO Box 1, Anytown, TX 75013, telephone 1-800-555-0100.",
        "no-part": "The agency did not make the decision, and cannot tell you the specific reasons "
        "for it.",
        "free-report": "a free copy of your report from the agency, if you ask for it within 60 "
        "days of receiving this notice",
        "dispute": "a right to dispute with the agency the accuracy or completeness of anything in "
        "the report",
    },
    "eu": {
        "role": "Meadow Bank has used an AI system, a computer model, for the decision on "
        "your application. The model’s answer is no. The answer is the decision: no "
        "person took part in it.",
        "elements": "THE MAIN ELEMENTS OF THE DECISION We compared you with the 100 applicants",
        "logic": "The model gives each value points for or against a yes, and adds these up. It "
        "makes no use of: calls.",
        "measure": "From 50 on the answer is yes. For you the confidence is",
        "otherwise": "WHAT WOULD MAKE IT A YES With any one of these two changes the model would "
        "say yes",
        "consequences": "WHAT FOLLOWS FROM THE DECISION No loan is made; you may apply again at "
        "any time.",
        "values": "age: 40 years; yearly income: NT$70,000; debts by income: 2.5; housing: rent; "
        "time in the job: 1 year.",
        "sources": "Where the values come from: Example Bureau.",
        "review": "You may ask that a person with us look at the decision again: Ann Lee, "
        "review@meadow.example",
        "view": "You may tell us your point of view, and you may contest the decision.",
        "correct": "You may have wrong values put right, and ask for a copy of what we hold about "
        "you.",
        "explanation": "You may ask for an explanation of the part of the AI system and of the "
        "main elements of the decision",
        "complaint": "You may complain to the supervisory authority: Berliner Beauftragte für "
        "Datenschutz, 10555 Berlin",
        "dpo": "Data protection officer: Jo Doe, dpo@meadow.example",
        "controller": "Meadow Bank, Wiesenweg 1, 10115 Berlin",
        "contact": "please ask: Ann Lee, 555 0100",
    },
}  # fmt: skip
EVERY = [(profile, item) for profile, items in ITEMS.items() for item in items]


@pytest.mark.parametrize(("profile", "item"), EVERY)
def test_item(profile, item):
    assert ITEMS[profile][item] in flat(written(profile))


def by_command(profile, folder):
    recourse, X, result = world()
    recourse.model.save(folder / "model.safetensors")
    result.save(folder / "result.json")
    X.to_csv(folder / "applicants.csv", index=False)
    (folder / "bank.yaml").write_text(json.dumps({"us": US, "eu": EU}[profile] | FILED))
    paths = {name: str(folder / name) for name in ("bank.yaml", "applicants.csv", "letter.txt")}
    made = CliRunner().invoke(
        app,
        ["letter", str(folder / "model.safetensors"), str(folder / "result.json"),
         "--out", paths["letter.txt"], "--profile", profile, "--fields", paths["bank.yaml"],
         "--reference", paths["applicants.csv"], "--dated", GIVEN["dated"]],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return Path(paths["letter.txt"]).read_text("utf-8")


def by_service(profile, folder):
    recourse, X, result = world()
    facts = {**US, **EU, **{"us": US, "eu": EU}[profile], **SHARED}  # they share an address
    (folder / "bank.yaml").write_text(json.dumps(facts))
    house = Institution.read(folder / "bank.yaml", reference=X)
    asked = {
        "person": dict(result.factual), "confidence": [0.5, 0.7], "profile": profile,
        "format": "text", "name": GIVEN["person"], "dated": GIVEN["dated"],
    }  # fmt: skip
    with running(AppState(recourse, institution=house)) as url:
        sent = httpx.post(f"{url}/v1/letter", json=asked, timeout=60)
    assert sent.status_code == 200, sent.text
    return sent.text


@pytest.mark.parametrize("surface", [by_command, by_service])
@pytest.mark.parametrize("profile", ["us", "eu"])
def test_every_item_stands_in_the_letter_of_every_surface(surface, profile, tmp_path):
    words = " ".join(surface(profile, tmp_path).split())
    assert [item for item, told in ITEMS[profile].items() if told not in words] == []
    assert words == flat(written(profile))


def test_the_page_lists_every_item_with_its_test():
    listed = re.findall(r"`test_item\[(us|eu)-([\w-]+)\]`", PAGE.read_text("utf-8"))
    assert sorted(listed) == sorted(EVERY)
    named = set(re.findall(r"`(test_[a-z_0-9]+)`", PAGE.read_text("utf-8")))
    here = Path(__file__).parent
    known = "".join(path.read_text("utf-8") for path in here.glob("test_*.py"))
    assert named
    assert {name for name in named if f"def {name}(" not in known} == set()


def test_no_more_than_four_reasons_each_specific():
    made = written("us")
    assert len(made.reasons) <= 4
    for reason in made.reasons:
        assert f"{reason.feature.title}: {reason.value}" in flat(made)
    assert [r.weight for r in made.reasons] == sorted(
        (r.weight for r in made.reasons), reverse=True
    )


def test_another_language_offers_the_notice_in_english():
    assert "Auf Wunsch erhalten Sie diese Mitteilung auf Englisch" in flat(written("us", "de"))
    assert "in English" not in flat(written("us"))


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("profile", ["plain", "us", "eu"])
def test_every_profile_says_the_same_in_every_form(profile, language, tmp_path):
    made = written(profile, language)
    made.save(tmp_path / "letter.pdf")
    told = [page.extract_text() for page in PdfReader(tmp_path / "letter.pdf").pages]
    pages = [re.sub(r"\d / \d\s*$", "", page) for page in told]
    assert len(pages) == 1 or profile != "plain"
    shown = re.sub(r"[\s\u200b-]", "", "".join(pages)).replace("ﬁ", "fi").replace("ﬀ", "ff")
    assert f'<html lang="{language}">' in made.html()
    for block in made.document.blocks:
        if block.kind in ("heading", "text"):
            assert re.sub(r"[\s-]", "", block.text) in shown
            assert unbroken(block.text) in made.html()


def single(X):
    """The same applicants, as a library keeps them in single precision."""
    return X.assign(debt=X["debt"].astype("float32").astype(float))


def test_what_is_usual_has_few_digits_though_a_library_keeps_many():
    _, X, result = world()
    made = letter_by(USProfile(**US), reference=single(X))
    assert made.reasons[0].usual != 1.3
    assert made.reasons[0].usual == pytest.approx(1.3)
    assert ITEMS["us"]["reasons"] in flat(made)
    told = flat(evidence(result, reference=single(X), verify=False, pictures=False))
    assert "1.3" in told
    assert "1.2999" not in told
    same = result.recourse.find({**result.factual, "debt": 1.3}, 0.5)
    near = single(X.assign(debt=[1.3 if row % 5 < 3 else 0.5 for row in range(len(X))]))
    (debt,) = (r for r in letter(same, **GIVEN, reference=near).reasons if r.feature.name == "debt")
    assert debt.usual != 1.3
    assert debt.typical == "", "it is the person's own, as it is told"


# ---------------------------------------------------------------- what is missing, late or not so


@pytest.mark.parametrize(("kind", "fields"), [(USProfile, US), (EUProfile, EU)])
def test_what_is_missing_is_named_all_at_once_and_there_is_no_letter(kind, fields):
    with pytest.raises(MissingFieldsError) as none:
        kind()
    needed = set(fields) - (set() if kind is EUProfile else {*SCORE, *filter(bureau, US)})
    assert set(none.value.names) == needed
    assert all(name in str(none.value) for name in needed)
    for name in fields:
        with pytest.raises(MissingFieldsError) as one:
            kind(**{other: value for other, value in fields.items() if other != name})
        assert one.value.names == (name,)
        assert str(one.value).startswith("no letter: the profile")


def bureau(name):
    return name.startswith("bureau")


def test_without_a_report_or_a_score_nothing_is_said_of_them():
    few = {name: US[name] for name in ("address", "agency", "received")}
    none = flat(letter_by(USProfile(**few, consumer_report="no")))
    assert "consumer reporting agency" not in none
    named = {name: US[name] for name in filter(bureau, US)}
    report = flat(letter_by(USProfile(**few, **named, consumer_report=True, score="none")))
    assert "consumer reporting agency" in report
    assert "credit score" not in report


def letter_by(profile, **more):
    _, X, result = world()
    return letter(result, **{**GIVEN, "reference": X, **more}, profile=profile)


def test_thirty_days_and_not_a_day_more_unless_late_is_said():
    for days, late, goes in ((30, False, True), (31, False, False), (31, True, True)):
        dated = datetime.date(2096, 11, 1) + datetime.timedelta(days)
        profile = USProfile(**US, late=late)
        if goes:
            assert letter_by(profile, dated=dated).document.dated == dated
        else:
            with pytest.raises(ValueError, match="31 days after the completed application .* late"):
                letter_by(profile, dated=dated)
    with pytest.raises(ValueError, match="received=2096-11-01 is after the letter's own day"):
        letter_by(USProfile(**US), dated="2096-10-31")


def test_a_day_of_the_past_on_the_notice_stops_no_clock():
    def back(days):
        return clock.today() - datetime.timedelta(days)

    until = {"valid_until": of_today()["valid_until"]}
    for received, goes in ((back(31), False), (back(30), True)):
        fields = {**US, "received": received, "score_date": received}
        how = {**until, "dated": back(20)}
        if goes:
            assert letter_by(USProfile(**fields), **how).record()["days"] == 30
            continue
        with pytest.raises(LateLetterError, match=f"go out on {clock.today()}, 31 days after"):
            letter_by(USProfile(**fields), **how)
        late = letter_by(USProfile(**fields, late=True), **how).record()
        assert (late["dated"], late["days"], late["late"]) == (str(back(20)), 31, True)


def test_a_ledger_records_no_notice_as_in_time_that_is_not(tmp_path):
    _, X, result = world()
    soon = {**asked_today(), "received": clock.today() - datetime.timedelta(29)}
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        promise = ledger.promise(result, subject="1", days=90)
        how = {**GIVEN, **of_today(), "reference": X, "promise": promise}
        record = letter(result, **how, profile=USProfile(**soon)).record()
        ledger.record_letter(promise.id, record)
        noon = datetime.datetime.combine(clock.today(), datetime.time(12), datetime.UTC)
        check_letter(promise, record, noon + datetime.timedelta(1))
        with pytest.raises(LedgerError, match=r"in time, which it was until .*; write it anew"):
            check_letter(promise, record, noon + datetime.timedelta(3))
        late = letter(
            result, **how, profile=USProfile(**{**soon, "received": "2020-01-02"}, late=True)
        )
        check_letter(promise, late.record(), noon + datetime.timedelta(3))


def test_no_file_of_facts_makes_every_letter_late(tmp_path):
    path = tmp_path / "bank.yaml"
    for late in (True, False, "yes"):
        path.write_text(json.dumps({**US, **SHARED, "late": late}))
        with pytest.raises(ValueError, match=r"bank.yaml: late: of one .* say --late with that"):
            Institution.read(path)


def test_a_notice_of_adverse_action_is_for_a_refusal():
    recourse, X, _ = world()
    happy = recourse.find({"age": 40, "income": 150_000, "debt": 0.5, "home": "own", "job": 9,
                           "calls": 1}, 0.5)  # fmt: skip
    with pytest.raises(ValueError, match="accepts this person: take the profile plain"):
        letter(happy, **GIVEN, reference=X, profile=USProfile(**US))
    assert letter(happy, **GIVEN, reference=X, profile=EUProfile(**EU)).accepted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": 900}, "score=900: expected a number from score_low=300 to score_high=850"),
        ({"score": "high"}, "score='high'; expected a number"),
        ({"score_factors": "a;b;c;d;e"}, "score_factors: given 5, expected at most 4"),
        ({"consumer_report": "perhaps"}, "consumer_report='perhaps'; expected yes or no"),
        ({"consumer_report": "no"}, "consumer_report=no: a score is told with the report"),
        ({"received": "soon"}, "received='soon'; expected a date"),
        ({"agency": "x" * 601}, "agency: given 601 letters, expected at most 600"),
        ({"agencies": "x"}, "no field 'agencies'; did you mean 'agency'?"),
    ],
)
def test_what_is_given_wrong_is_said(change, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        profile_of("us", {**US, **change})


def test_a_fifth_factor_is_inquiries_alone():
    five = "a; b; c; d; Number of recent inquiries"
    made = letter_by(USProfile(**{**US, "score_factors": five, "inquiries": "yes"}))
    assert "5. Number of recent inquiries" in flat(made)


def test_a_person_who_decides_is_told_of():
    told = flat(written("eu", role="advises", dpo="none", sources="none"))
    assert "A person with us has taken the decision" in told
    assert "values come from you" not in told
    assert "If you want to know where the values come from, please ask." in told
    assert "Data protection officer" not in told
    with pytest.raises(ValueError, match="role='helps'; expected 'decides'"):
        EUProfile(**{**EU, "role": "helps"})


@pytest.mark.parametrize("none", ["none", "None", "NONE", " none "])
def test_none_is_none_however_it_is_written(none):
    told = flat(written("eu", dpo=none, sources=none))
    assert "Data protection officer" not in told
    assert "Where the values come from" not in told
    few = {name: each for name, each in US.items() if name not in SCORE}
    assert not USProfile(**few, score=none).scored
    assert "None" in flat(written("eu", review="None")), "a field that is always told"


def test_a_law_s_profile_takes_reasons_by_the_commentary_alone():
    _, X, result = world()
    for profile in (USProfile(**US), EUProfile(**EU)):
        name = profile.name
        with pytest.raises(ValueError, match=f"the profile {name} compares with other applicants"):
            letter(result, **GIVEN, profile=profile)
        with pytest.raises(ValueError, match=f"no method for the profile {name}"):
            letter(result, **GIVEN, profile=profile, reference=X, reasons="nearest-yes")
    accepted = result.recourse.find(result.options[0].x, 0.5)
    assert letter(accepted, **GIVEN, profile=EUProfile(**EU)).accepted, "no reasons, no reference"
    average = letter_by(USProfile(**US), reasons="all-applicants")
    assert f"with the average of all {len(X)} applicants" in flat(average)


def test_a_law_s_profile_goes_out_with_a_reason_or_not_at_all():
    features = Feature("income", lower=0, upper=90), Feature("debt", lower=0, upper=90)
    schema = Schema(features)
    card = Additive(schema, [[20, 40, 60], [50]], [[-2, -1, 0, 2], [0.2, 0]], base=0)
    high = Recourse(card, schema, decision_threshold=0.8)
    above = high.find({"income": 50, "debt": 10}, 0.8)  # the average, and below the threshold
    X = pd.DataFrame({"income": [10.0] * 20 + [70.0] * 5, "debt": 10.0})
    for profile in (USProfile(**US), EUProfile(**EU)):
        how = {**GIVEN, "reference": X, "profile": profile}
        said = f"the profile {profile.name} needs a reason, .* short of the average of all 25 .*"
        with pytest.raises(ValueError, match=f"{said}take the other method, just-passed"):
            letter(above, **how, reasons="all-applicants")
        (reason,) = letter(above, **how, reasons="just-passed").reasons
        assert reason.feature.name == "income"
        with pytest.raises(ValueError, match="no row that the model accepts"):
            letter(above, **{**how, "reference": X.head(20)}, reasons="just-passed")
    plain = letter(above, **GIVEN, reference=X, reasons="all-applicants")
    assert "In none of your values do you fall short" in flat(plain)


# ---------------------------------------------------------------- codes, and what is protected

CODES = """\
- {feature: debts by income, when: high, code: R1, text: Obligations too high for the income}
- {feature: income, when: low, code: R1, text: Obligations too high for the income}
- {feature: income, when: high, code: X, text: never}
- {feature: home, when: rent, code: R2, text: Type of housing}
- {feature: job, code: R3, text: Length of employment}
- {feature: age, code: R4, text: Age}
"""


@pytest.mark.parametrize("ending", ["yaml", "csv"])
def test_reasons_by_the_institution_s_own_list(ending, tmp_path):
    path = tmp_path / f"codes.{ending}"
    path.write_text(CODES)
    if ending == "csv":
        lines = re.findall(r"\{feature: (.*?)(?:, when: (\w+))?, code: (\w+), text: (.*)\}", CODES)
        pd.DataFrame(lines, columns=["feature", "when", "code", "text"]).to_csv(path, index=False)
    made = letter_by(USProfile(**US), reason_codes=path)
    assert (made.reasons[0].code, made.reasons[0].others[0].feature.name) == ("R1", "income")
    told = "1. Obligations too high for the income (R1). debts by income: 2.5; yearly income: "
    assert f"{told}NT$70,000" in flat(made)
    assert "Length of employment (R3). time in the job: 1 year." in flat(made)
    assert "Type of housing (R2)" in flat(made)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "no reason code for debt (high), income (low), "),
        ([{"feature": "debt", "text": ""}], "line 1: no text; expected the reason in words"),
        ([{"feature": "debts", "text": "x"}], "no feature 'debts'; did you mean 'debt'?"),
        ([{"feature": "debt", "when": "hgh", "text": "x"}], "when='hgh'; expected one of 'low'"),
        ([{"feature": "debt", "words": "x"}], "no field 'words'"),
        ([{"feature": "debt", "text": ["x"]}], "text is a list; expected a text"),
        ([{"feature": "debt", "code": 1.1, "text": "x"}], "code is a float; expected a text"),
        ([{"feature": "debt", "when": False, "text": "x"}], "when is a bool; expected a text"),
        ({"feature": "debt"}, "expected a list, each line with feature, when, code, text"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(lines, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        letter_by(USProfile(**US), reason_codes=lines)


def test_a_list_is_read_as_it_stands(tmp_path):
    schema = Schema((Feature("owner", "boolean"), Feature("income")))
    path = tmp_path / "codes.yaml"
    path.write_text("""\
- {feature: owner, when: no, code: 014, text: Owns nothing}
- {feature: income, when: , code: 1.10, text: no}
- {feature: income, when: ~, code: yes, text: 2096-11-02}
- {feature: owner, code: 7, text: true}
""")
    lines = [(each.when, each.code, each.text) for each in ReasonCodes.read(path, schema).lines]
    assert lines == [
        ("no", "014", "Owns nothing"), ("", "1.10", "no"), ("", "yes", "2096-11-02"),
        ("", "7", "true"),
    ]  # fmt: skip
    for wrong, said in (
        ("- &a {feature: income, text: x}\n- *a", "anchor or alias"),
        ("- {feature: income, text: !!str x}", "a tag"),
        ("- {feature: income, text: x, text: y}", "'text' is given twice"),
        ("[" * 9 + "]" * 9, "nested more than 8 deep"),
    ):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=f"expected YAML, .*{said}"):
            ReasonCodes.read(path, schema)


def test_a_line_for_a_value_is_not_for_the_side_of_that_name():
    levels = Feature("status", "ordinal", values=("low", "medium", "high"))
    schema = Schema((levels, Feature("income")))
    lines = [{"feature": "status", "when": "high", "code": "H", "text": "the highest class"},
             {"feature": "income", "when": "high", "code": "I", "text": "x"}]  # fmt: skip
    codes = ReasonCodes.read(lines, schema)
    found = [Reason(levels, weight=1.0, side="high", raw=raw) for raw in ("medium", "high")]
    told = codes.coded(found)
    assert {each.raw: each.code for each in told} == {"medium": "", "high": "H"}
    with pytest.raises(ValueError, match=re.escape("no reason code for status (medium), which")):
        codes.check(told)
    assert codes.of(schema["income"], "high", "7").code == "I"
    anyhow = ReasonCodes.read([*lines, {"feature": "status", "text": "y"}], schema)
    assert anyhow.of(levels, "high", "medium").text == "y"


@cache
def guarded():
    """The same, with what is the weightiest reason protected."""
    recourse, X, result = world()
    strict = Recourse(recourse.model, recourse.schema.update("home", protected=True))
    return strict.find(result.factual, 0.5), X


def test_a_protected_reason_is_neither_dropped_nor_sent_but_decided_and_recorded(tmp_path):
    result, X = guarded()
    given = {**GIVEN, **of_today(), "reference": X}
    for profile in (USProfile(**asked_today()), EUProfile(**EU)):
        with pytest.raises(ProtectedReasonError) as stopped:
            letter(result, **given, profile=profile)
        assert stopped.value.names == ["home"]
        with Ledger(tmp_path / f"{profile.name}.db", key="a long secret for a test") as ledger:
            promise = ledger.promise(result, subject="1", days=90)
            made = letter(
                result, **given, profile=profile, protected_reviewed=["housing"],
                promise=promise, reviewed_by="Jo Doe",
            )  # fmt: skip
            assert made.protected_reviewed == ("home",)
            assert "home" in {reason.feature.name for reason in made.reasons}
            assert "A protected characteristic is among these: housing." in flat(made)
            entry = ledger.record_letter(promise.id, made.record())
            assert entry.told() == json.loads(json.dumps(made.record()))
            assert entry.told()["protected_reviewed"] == ["home"]
            assert entry.told()["reviewed_by"] == "Jo Doe"
            assert ledger.verify().holds
            assert ledger.read(promise.id).closed == ""


@pytest.mark.parametrize("profile", [USProfile(**US), EUProfile(**EU)], ids=["us", "eu"])
def test_by_a_law_s_profile_what_tells_what_the_law_protects_stops_the_letter(profile):
    recourse, X, result = world()
    schema = recourse.schema.update("age", protected=False)
    young = Recourse(Additive(schema, [[50], [], [], [], [], []],
                              [[-2, 2], [0], [0], [0, 0], [0], [0]], base=0), schema)  # fmt: skip
    found = young.find(result.factual, 0.5)
    how = {**GIVEN, "reference": X.assign(age=60)}
    assert letter(found, **how).reasons[0].feature.name == "age"
    how["profile"] = profile
    with pytest.raises(ProtectedReasonError) as stopped:
        letter(found, **how)
    assert stopped.value.names == ["age"]
    assert "age is a person's age, by its name, which the law protects, and the schema does" in str(
        stopped.value
    )
    with pytest.raises(ValueError, match="by whom; give reviewed_by"):
        letter(found, **how, protected_reviewed=["age"], reviewed_by="-")
    made = letter(found, **how, protected_reviewed=["age"], reviewed_by="Jo Doe")
    assert "age" in made.record()["protected_reviewed"]
    assert "protected characteristic" in flat(made)


def card(edges, points, *features):
    """A table of points on such features, and the rows of other applicants."""
    schema = Schema(features)
    recourse = Recourse(Additive(schema, edges, points, base=-1), schema)
    return recourse, pd.DataFrame({feature.name: [60, 55, 50] for feature in features})


@pytest.mark.parametrize(
    ("shown", "catalogue", "said"),
    [
        ({"label": "Age"}, {}, "Age is a person's age, by its label, which the law"),
        ({"labels": {20: "Mr", 60: "Mrs"}}, {}, "x1 is a person's sex, by its values, which"),
        ({}, {"x1": "Age"}, "Age is a person's age, by its label, which the law protects"),
        ({"label": "Age"}, {"Age": "Points"}, "Points is a person's age, by its label, which"),
    ],
)
def test_what_a_person_reads_of_a_column_tells_what_the_law_protects(
    shown, catalogue, said, tmp_path
):
    held = Feature("x1", "integer", lower=18, upper=90, mutable=False, **shown)
    recourse, X = card([[40], []], [[-2, 2], [0]], held, Feature("income", lower=0, upper=90))
    found = recourse.find({"x1": 20, "income": 20}, 0.5)
    lines = [f'msgctxt "label"\nmsgid "{a}"\nmsgstr "{b}"\n' for a, b in catalogue.items()]
    (tmp_path / "en.po").write_text("\n".join(['msgid ""\nmsgstr ""\n', *lines]))
    how = {**GIVEN, "reference": X, "catalogues": tmp_path}
    assert letter(found, **how).reasons[0].feature.name == "x1", "a plain letter asks nothing"
    with pytest.raises(ProtectedReasonError, match=re.escape(said)) as stopped:
        letter(found, **how, profile=USProfile(**US))
    assert stopped.value.names == ["x1"]
    signed = {"protected_reviewed": ["x1"], "reviewed_by": "Jo Doe"}
    assert letter(found, **how, profile=USProfile(**US), **signed).protected_reviewed == ("x1",)


@pytest.mark.parametrize("formula", ["65 - age", "moves by -1 * age"])
def test_what_follows_from_the_protected_is_guarded_as_it_is(formula):
    features = (
        Feature("age", "integer", lower=18, upper=90, protected=True),
        Feature("left", "integer", lower=-25, upper=47, derived=formula, label="years left"),
        Feature("twice", lower=0, upper=180, derived="2 * income"),
        Feature("income", "integer", lower=0, upper=90),
    )
    unmarked = (replace(features[0], protected=False), *features[1:])
    X = pd.DataFrame({"age": [30], "left": [35], "twice": [120], "income": [60]})
    person = {"age": 64, "left": 1, "twice": 30, "income": 15}

    def refused(at, held):
        points, edges = ([[-1, 1] if f == at else [0] for f in range(4)],
                         [[20 * at] if f == at else [] for f in range(4)])  # fmt: skip
        schema = Schema(held)
        found = Recourse(Additive(schema, edges, points, base=-0.5), schema)
        return found.find(person, 0.5, time_limit=2)

    said = "years left follows from what is protected, age; review"
    us, eu = USProfile(**US), EUProfile(**EU)
    for held, profile, beside in (
        (features, None, {}), (features, None, {"reference": X}), (unmarked, us, {"reference": X}),
        (unmarked, eu, {"reference": X}),
    ):  # fmt: skip
        how = {**GIVEN, **beside, "profile": profile}
        with pytest.raises(ProtectedReasonError, match=said) as stopped:
            letter(refused(1, held), **how)
        assert stopped.value.names == ["left"]
        signed = {"protected_reviewed": ["years left"], "reviewed_by": "Jo Doe"}
        assert letter(refused(1, held), **how, **signed).protected_reviewed == ("left",)
    for held, at in ((features, 2), (unmarked, 1)):  # of the income; of an age nobody protects
        assert letter(refused(at, held), **GIVEN, reference=X).protected_reviewed == ()


def test_a_ledger_records_no_letter_that_says_otherwise_than_its_promise(tmp_path):
    result, X = guarded()
    how = {"reference": X, "profile": EUProfile(**EU), "protected_reviewed": ["home"]}
    other = result.recourse.find({**result.factual, "job": 2}, 0.5)
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        promise = ledger.promise(result, subject="1", days=60)
        signed = {**GIVEN, **of_today(), **how, "reviewed_by": "Jo Doe"}
        day = datetime.timedelta(2)
        for answers, change, said in (
            (result, {"valid_until": "2099-01-31"}, "holds until .* only"),
            (result, {"dated": clock.today() + day}, "that day is to come, it is"),
            (result, {"dated": clock.today() - day}, "was made on .*, after that"),
            (other, {}, "is of other values"),
            (result, {}, "offers ranges of values, which promise .* does not hold"),
        ):
            record = letter(answers, **{**signed, **change}).record()
            with pytest.raises(LedgerError, match=said):
                ledger.record_letter(promise.id, record)
        made = letter(result, **signed, promise=promise)
        with pytest.raises(LedgerError, match=r"home was reviewed, .* by whom"):
            ledger.record_letter(promise.id, {**made.record(), "reviewed_by": ""})
        for name, said in (
            ("promise", "is of promise 0a1b, not of"),
            ("model", "by the model 0a1b…"),
        ):
            with pytest.raises(LedgerError, match=said):
                ledger.record_letter(promise.id, {**made.record(), name: "0a1b"})
        assert made.record()["model"] == promise.model
        record = {name: part for name, part in made.record().items() if name != "factual"}
        with pytest.raises(LedgerError, match="lacks factual; expected what Letter.record"):
            ledger.record_letter(promise.id, record)
        assert len(ledger.history(promise.id)) == 1
        made.save(tmp_path / "letter.html")
        digest = hashlib.sha256((tmp_path / "letter.html").read_bytes()).hexdigest()
        for file in (tmp_path / "letter.html", (tmp_path / "letter.html").read_bytes()):
            kept = ledger.record_letter(promise.id, made.record(), file=file).told()
            assert kept["file_sha256"] == digest
        ledger.withdraw(promise.id, "a test")
        with pytest.raises(PromiseClosedError, match="is withdrawn"):
            ledger.record_letter(promise.id, made.record())


def test_a_letter_under_a_promise_offers_that_option_alone(tmp_path):
    _, X, result = world()
    assert len(result.options) == 2
    how = {**GIVEN, **of_today(), "reference": X}
    both = letter(result, **how)
    assert len(both.offers) == 2
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        for option in (0, 1):
            promise = ledger.promise(result, option, subject="1", days=60)
            with pytest.raises(LedgerError, match="offers other options, which promise"):
                ledger.record_letter(promise.id, both.record())
            made = letter(result, **how, promise=promise)
            (offer,) = made.offers
            assert {*offer.changes} == {*promise.option.changes}
            assert not offer.ranges
            ledger.record_letter(promise.id, made.record())
            assert ledger.redeem(promise.id, offer.row, result.recourse.model).due
        wide = ledger.promise(result, 0, subject="1", days=60, ranges=True)
        made = letter(result, **how, promise=wide)
        assert made.offers[0].ranges
        kept = ledger.record_letter(wide.id, made.record()).told()
        (ranges,) = kept["ranges"]
        assert ranges == {name: [*ends] for name, ends in wide.ranges.items()}
        other = result.recourse.find({**result.factual, "job": 2}, 0.5)
        with pytest.raises(LedgerError, match="the result has no such option"):
            letter(other, **how, promise=wide)


def test_an_invented_record_of_a_notice_is_refused(tmp_path):
    _, X, result = world()
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        promise = ledger.promise(result, 0, subject="1", days=60)
        before = clock.today() - datetime.timedelta(5)
        made = letter(
            result,
            **{**GIVEN, **of_today()},
            reference=X,
            promise=promise,
            profile=USProfile(**{**asked_today(), "received": before}),
        ).record()
        assert made["days"] > 0
        earlier = datetime.date.fromisoformat(made["received"]) - datetime.timedelta(days=60)
        for other in ({"days": 0}, {"received": earlier.isoformat()}, {"late": True}):
            with pytest.raises(LedgerError, match="these cannot be; record what"):
                ledger.record_letter(promise.id, made | other)
        with pytest.raises(LedgerError, match="by the profile us without a reason"):
            ledger.record_letter(promise.id, made | {"reasons": []})
        ledger.record_letter(promise.id, made)


def test_another_way_is_not_proved_the_smallest_and_keeps_its_number(tmp_path):
    recourse, X, first = world()
    result = recourse.find(dict(first.factual), [0.5, 0.6], n_options=3)
    how, targets = {**GIVEN, **of_today(), "reference": X}, [each.target for each in result.options]
    others = [at for at, target in enumerate(targets) if target in targets[:at]]
    assert others
    assert all(result.options[at].status is Status.OPTIMAL for at in others)
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        for at in range(len(targets)):
            text = letter(result, **how, promise=ledger.promise(result, at, subject="1")).text()
            said = "It is proved that no smaller change" in " ".join(text.split())
            assert said == (at not in others)
    told = letter(result, **how)
    table = next(each for each in told.document.blocks if isinstance(each, TableBlock))
    for offer, name in zip(told.offers, table.head[2:], strict=True):
        at = int(name.removeprefix("option ")) - 1
        assert {*result.options[at].changes} == {*offer.changes}
        assert int(100 * result.options[at].confidence) == offer.confidence
    costs = [result.options[int(name[7:]) - 1].cost for name in table.head[2:]]
    assert costs == sorted(costs)
    assert [*range(1, len(costs) + 1)] != [int(name[7:]) for name in table.head[2:]]


def test_a_letter_of_a_promise_is_by_its_decision(tmp_path):
    recourse, X, result = world()
    person, how = dict(result.factual), {**GIVEN, **of_today(), "reference": X}
    other = Recourse(recourse.model, recourse.schema, wanted=0)
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        promise = ledger.promise(result, subject="1", days=60)
        low = recourse.find(person, 0.5, decision_threshold=0.1)
        assert not low.refused, "whom the promise refuses, and this letter would accept"
        no = other.find(result.options[0].x, mode="argmax")
        for answers, said in (
            (low, "class 1, accepted from 0.1, and promise .* of 1, accepted from 0.5"),
            (no, "of the class 0, accepted where it has the most"),
        ):
            with pytest.raises(LedgerError, match=said):
                letter(answers, **how, promise=promise)
            with pytest.raises(LedgerError, match=said):
                ledger.record_letter(promise.id, letter(answers, **how).record())
        record = letter(result, **how, promise=promise).record()
        for wrong in (None, {"mode": "argmax"}, {"least": 0.5}):
            with pytest.raises(LedgerError, match="of the class 1, accepted by another rule"):
                ledger.record_letter(promise.id, {**record, "decision": wrong})
        assert ledger.record_letter(promise.id, record).told()["decision"]["confidence"] == 0.5


def test_a_letter_offers_no_wider_ranges_than_its_promise(tmp_path):
    recourse, X, result = world()
    person, how = dict(result.factual), {**GIVEN, **of_today(), "reference": X}
    narrow = recourse.find(person, 0.5, limits={"job": (1, 10)})
    wide = recourse.find(person, 0.5)
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        for promised, told, goes in (
            (wide, wide, True), (narrow, narrow, True), (wide, narrow, True), (narrow, wide, False),
        ):  # fmt: skip
            promise = ledger.promise(promised, subject="1", days=60, ranges=True)
            record = letter(told, **how, promise=promise).record()
            if goes:
                ledger.record_letter(promise.id, record)
                continue
            with pytest.raises(LedgerError, match="offers wider ranges of values, which promise"):
                ledger.record_letter(promise.id, record)
        ranges = record["ranges"][0]
        for wrong in ({"job": [1, 10]}, {"job": [None, 10]}, {"job": [3, None]}, {"jobs": [3, 10]},
                      {"calls": [1, 2]}, {"job": 3}, {"job": ["a", "b"]}):  # fmt: skip
            with pytest.raises(LedgerError, match="wider ranges"):
                ledger.record_letter(promise.id, {**record, "ranges": [{**ranges, **wrong}]})
        ledger.record_letter(promise.id, {**record, "ranges": [{"job": [4, 9]}]})


def test_the_record_says_whether_it_was_in_time():
    dated = datetime.date(2096, 12, 19)
    late = letter_by(USProfile(**US, decided="2096-12-01", late=True), dated=dated).record()
    assert [late[name] for name in ("received", "decided", "days", "late")] == [
        "2096-11-01", "2096-12-01", 48, True,
    ]  # fmt: skip
    soon = letter_by(USProfile(**US, late=True), dated="2096-12-01").record()
    assert (soon["decided"], soon["days"], soon["late"]) == (None, 30, False), "nobody gave it"
    assert soon["in_time_until"] == "2096-12-01"
    assert "days" not in letter_by(EUProfile(**EU)).record()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score_date": "2096-11-16"}, "score_date=2096-11-16 is after the letter's own day"),
        ({"decided": "2096-11-16"}, "decided=2096-11-16 is after the letter's own day"),
        ({"decided": "2096-10-31"}, "decided=2096-10-31 is before received=2096-11-01"),
    ],
)
def test_a_day_that_cannot_be_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        letter_by(USProfile(**{**US, **change}))


def test_a_file_of_facts_serves_every_profile_and_no_other_word(tmp_path):
    _, X, result = world()
    path = tmp_path / "bank.yaml"
    path.write_text(json.dumps({**US, **EU, **SHARED}))
    house = Institution.read(path, reference=X)
    for profile in ("plain", "us", "eu"):
        made = house.letter(result, profile, dated="2096-11-15")
        assert made.profile.name == profile
        assert "Meadow Bank" in flat(made)
    with pytest.raises(MissingFieldsError, match="us needs this field too: reference"):
        Institution.read(path).letter(result, "us")
    with pytest.raises(ValueError, match="plain has no field 'received'"):
        house.letter(result, "plain", {"received": "2096-11-01"})
    path.write_text(json.dumps({"adress": "1 Main Street"}))
    with pytest.raises(ValueError, match="no profile has a field 'adress'; did you mean 'address'"):
        Institution.read(path)


# ---------------------------------------------------------------- the command


def test_the_command_from_a_file_of_fields_to_the_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, X = guarded()
    result.recourse.model.save("model.safetensors")
    result.save("result.json")
    single(X).to_csv("applicants.csv", index=False)
    Path("codes.yaml").write_text(CODES)
    shared = {"organisation": "Meadow Bank", "contact": "Ann", "valid_until": "2999-01-31"}
    fields = {name: US[name] for name in ("address", "agency")} | shared
    Path("bank.yaml").write_text(json.dumps(fields))
    Path("key").touch(mode=0o600)
    Path("key").write_text("a long secret for a test")

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    book = ("--ledger", "promises.db", "--key-file", "key")
    made = run("ledger", "promise", "model.safetensors", "result.json", "--subject", 1, *book)
    promise = re.search("Promise ([0-9a-f]+)", made.output)[1]
    ask = ("letter", "model.safetensors", "result.json", "--out", "n.txt", "--force")
    ask = (*ask, "--profile", "us")
    none = run(*ask)
    assert none.exit_code == 2
    assert " ".join(none.output.split()) == (
        "no letter: the profile us needs these fields too: organisation, contact, valid_until, "
        "reference, address, agency, received, consumer_report; give fields by --field "
        "NAME=VALUE, or in a file by --fields, and rows by --reference"
    )
    long = clock.today() - datetime.timedelta(48)
    ask += ("--fields", "bank.yaml", "--field", f"received={long}", "--field",
            "consumer_report=no", "--reference", "applicants.csv")  # fmt: skip
    assert "say so: --late" in run(*ask).output
    ask += ("--late", "--reason-codes", "codes.yaml")
    assert "say so: --protected-reviewed=home" in run(*ask).output
    assert not Path("n.txt").exists()
    assert "give --promise ID too" in run(*ask, *book).output
    ask += ("--protected-reviewed", "home")
    unsigned = " ".join(run(*ask).output.split())
    assert "by whom; give --reviewed-by NAME" in unsigned
    assert not Path("n.txt").exists()
    ask += ("--reviewed-by", "Jo Doe")
    alone = run(*ask)
    assert "no ledger has it" in alone.output
    ask += ("--valid-until", of_today()["valid_until"])
    late = run(*ask, "--valid-until", "2998-01-31", "--promise", promise, *book)
    assert re.search("promise .* holds until .* only", " ".join(late.output.split()))
    guarded()[0].recourse.find({**result.factual, "job": 2}, 0.5).save("other.json")
    other = ("other.json" if word == "result.json" else word for word in ask)
    assert "is of other values" in run(*other, "--promise", promise, *book).output
    ask = tuple("d.txt" if word == "n.txt" else word for word in ask)
    ask += ("--protected-reviewed", "age")
    sent = run(*ask, "--promise", promise, *book, "--language", "de")
    assert sent.exit_code == 0, sent.output
    said = " ".join(sent.stderr.split())
    assert "Not in the language de, so as the schema has them: " in said
    assert "values of housing" in said
    assert "Ihr Antrag" in Path("d.txt").read_text()
    assert promise in Path("d.txt").read_text()
    shown = " ".join(run("ledger", "show", promise, *book).output.split())
    told = f"letter of {clock.today()}, profile us, in de; 48 days, late: "
    told += f"application complete on {long}"
    assert f"{told}, the day of decision not given; 4 reasons by just-passed" in shown
    assert re.search(r"reason: debts by income 2\.5; usual 1\.3; weight 0\.\d+ \(R1\)", shown)
    assert "The seal was not tried with the key" not in shown
    bare = run("ledger", "show", promise, "--ledger", "promises.db")
    assert "The seal was not tried with the key" in bare.output
    files = ("--file", "d.txt", "--file", "bank.yaml")
    held = run("ledger", "show", promise, *book, *files[:2])
    assert held.exit_code == 0
    assert f"d.txt: its letter of {clock.today()}, SHA-256" in " ".join(held.output.split())
    held = run("ledger", "show", promise, *book, *files, "--json")
    assert held.exit_code == 1
    told = [each["recorded"] for each in json.loads(held.output)["files"]]
    assert told == [f"its letter of {clock.today()}", None]
    digest = hashlib.sha256(Path("d.txt").read_bytes()).hexdigest()
    assert (
        f"protected, and reviewed by Jo Doe: housing; reviewed by Jo Doe, and no reason: age; "
        f"SHA-256 of its file {digest}"
    ) in shown
    assert "age is not among the reasons: the letter does not name it." in sent.output
    assert re.search(
        r"Compared with the 100 accepted .*confidence is from 0\.5\d\d to", sent.output
    )
    asked = (
        f"asked for at least {result.options[0].target.confidence:g}; the model accepts from 0.5"
    )
    assert asked in shown
    sure, now = floored(result.options[0].confidence), floored(result.confidence)
    assert f"confidence {sure}, before {now} cost {result.options[0].cost:.4g}" in shown
    assert "certificate none" in shown
    assert "time in the job 1 year 3 years" in shown
    kept = json.loads(run("ledger", "show", promise, *book, "--json").output)
    assert kept["events"][0]["reasons"][0]["code"] == "R1"


def test_the_command_says_which_options_a_promise_leaves_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recourse, _, result = world()
    recourse.model.save("model.safetensors")
    result.save("result.json")
    monkeypatch.setenv("TRUST_LEDGER_KEY", "a long secret for a test")

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    book = ("--ledger", "promises.db")
    ask = ("model.safetensors", "result.json")
    made = run("ledger", "promise", *ask, "--subject", 1, "--option", 2, *book)
    promise = re.search("Promise ([0-9a-f]+)", made.output)[1]
    ask = ("letter", *ask, "--out", "n.txt", "--organisation", "Meadow Bank", "--contact", "Ann",
           "--valid-until", of_today()["valid_until"], "--promise", promise,
           "--protected-reviewed", "age", "--reviewed-by", "Jo Doe")  # fmt: skip
    unknown = run(*ask)
    assert unknown.exit_code == 2
    assert "give --ledger too" in " ".join(unknown.output.split())
    sent = run(*ask, *book)
    assert sent.exit_code == 0, sent.output
    said = f"The letter offers what promise {promise} holds, and not the other option."
    assert said in " ".join(sent.stderr.split())
    assert "option 2" not in Path("n.txt").read_text()
    kept = json.loads(run("ledger", "show", promise, *book, "--json").output)
    assert kept["events"][0]["options"] == [kept["option"]]


def test_the_command_ends_with_a_sentence_where_a_file_is_wrong(tmp_path):
    recourse, _, result = world()
    recourse.model.save(tmp_path / "model.safetensors")
    result.save(tmp_path / "result.json")
    (tmp_path / "bank.yaml").write_text(json.dumps({**SHARED, "late": True}))
    (tmp_path / "en.po").write_text('msgid "Its answer is no."\nmsgstr "No, %(who)s."\n')
    ask = ["letter", *(str(tmp_path / name) for name in ("model.safetensors", "result.json"))]
    ask += ["--out", str(tmp_path / "n.txt"), "--valid-until", GIVEN["valid_until"]]
    ask += ["--organisation", "Meadow Bank", "--contact", "Ann"]
    for more, said in (
        (["--fields", str(tmp_path / "bank.yaml")], "bank.yaml: late: of one person"),
        (["--catalogues", str(tmp_path)], "en.po: 'Its answer is no.' is translated as"),
    ):
        made = CliRunner().invoke(app, [*ask, *more])
        assert made.exit_code == 2
        assert said in " ".join(made.output.split())
        assert not (tmp_path / "n.txt").exists()


@pytest.mark.parametrize(
    ("profile", "field", "wrong"),
    [
        ("plain", "address", 5), ("us", "agency", True), ("eu", "dpo", ["Jo"]),
        ("us", "bureau_telephone", 18005550100), ("us", "score", True), ("us", "score", [612]),
        ("us", "received", 5), ("us", "consumer_report", 2), ("us", "score_factors", [1, 2]),
        ("us", "score_factors", 7), ("us", "late", "perhaps"), ("us", "late", 1),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_refused_in_a_sentence(profile, field, wrong):
    with pytest.raises(ValueError, match=rf"{field}=.*; expected "):
        profile_of(profile, {**{"plain": {}, "us": US, "eu": EU}[profile], field: wrong})


@pytest.mark.parametrize(("said", "late"), [("no", False), ("false", False), ("yes", True)])
def test_late_is_what_is_said(said, late):
    assert profile_of("us", {**US, "late": said}).late is late


@pytest.mark.parametrize("name", ["person", "received", "late", "consumer_report", "score"])
def test_a_server_has_no_facts_of_one_person(name, tmp_path):
    recourse, _, _ = world()
    recourse.model.save(tmp_path / "model.safetensors")
    facts = {name: {**US, "person": "Maria", "late": False}[name]}
    (tmp_path / "bank.yaml").write_text(json.dumps(SHARED | facts))
    command = [
        "serve",
        str(tmp_path / "model.safetensors"),
        "--fields",
        str(tmp_path / "bank.yaml"),
    ]
    made = CliRunner().invoke(app, [*command, "--wanted", "1", "--port", "0"])
    assert made.exit_code == 2
    assert f"bank.yaml: {name}: of one person" in " ".join(made.output.split())


def test_what_all_letters_share_is_read_as_what_it_is(tmp_path):
    path = tmp_path / "bank.yaml"
    path.write_text("valid_until: 2097-01-31\naddress:\n")
    house = Institution.read(path)
    house.refuse_one_person(path)
    assert house.facts["valid_until"] == datetime.date(2097, 1, 31)
    for wrong, words in (("organisation: 5", "organisation=5; expected text"),
                         ("valid_until: soon", "valid_until='soon'; expected a date")):  # fmt: skip
        path.write_text(wrong)
        with pytest.raises(ValueError, match=words):
            Institution.read(path)


def test_names_have_no_underscores_and_a_small_shortfall_is_no_principal_reason():
    assert ENGLISH.label("late_payments") == "late payments"
    for weights, kept in (([0.96, 0.04], 1), ([0.94, 0.06], 2), ([0.04] * 25, 1), ([0.2] * 5, 4)):
        found = [Reason(Feature(f"x{at}"), weight=each) for at, each in enumerate(weights)]
        assert principal(found) == tuple(found[:kept])


def test_small_shortfalls_of_one_code_count_together():
    schema = Schema(tuple(Feature(f"x{at}") for at in range(5)))
    found = [
        Reason(feature, weight=weight, side="low")
        for feature, weight in zip(schema, (0.8, 0.08, 0.04, 0.04, 0.04), strict=True)
    ]
    lines = [{"feature": f"x{at}", "code": "AB"[at > 1], "text": "t"} for at in range(5)]
    lines[1]["code"] = "C"
    codes = ReasonCodes.read(lines, schema)
    told = principal(codes.coded(found))
    assert [(each.code, round(each.total, 9)) for each in told] == [
        ("A", 0.8), ("B", 0.12), ("C", 0.08),
    ]  # fmt: skip
    assert [each.feature.name for each in told[1].others] == ["x3", "x4"]
    codes = ReasonCodes.read(lines[1:], schema)
    with pytest.raises(ValueError, match=re.escape("no reason code for x0 (low), which")):
        codes.check(principal(codes.coded(found)))


def called(label):
    """The world's applicant, whose debts by income are called otherwise."""
    recourse, X, result = world()
    schema = recourse.schema.update("debt", label=label)
    return Recourse(recourse.model, schema).find(result.factual, 0.5), X


@pytest.mark.parametrize("label", ["FICO score", "credit score", "Bureau-Score", "debts by income"])
def test_a_reason_that_sounds_like_a_report_is_doubted_where_there_is_said_to_be_none(label):
    result, X = called(label)
    none = {name: fact for name, fact in US.items() if name not in {*SCORE, *filter(bureau, US)}}
    made = letter(
        result, **GIVEN, reference=X, profile=USProfile(**none | {"consumer_report": "no"})
    )
    assert [doubt.partition(" may ")[0] for doubt in made.doubts] == [
        f"By its name the reason {label}"
    ] * (label != "debts by income")
    assert not letter(result, **GIVEN, reference=X, profile=USProfile(**US)).doubts
    assert not letter(result, **GIVEN, reference=X, profile=EUProfile(**EU)).doubts


def test_what_the_offer_leaves_alone_and_the_model_does_not_use_is_said():
    told = flat(written("us"))
    assert "The model does not use calls." in told
    _, _, asked = world()
    facts = Wording(asked, ENGLISH)
    assert facts.any_of(["age", "sex"]) == "age or sex"
    assert facts.any_of(["age", "sex", "home"]) == "age, sex or home"
    result, X = guarded()
    how = {**GIVEN, "protected_reviewed": ["home"], "reviewed_by": "Jo Doe"}
    home = letter(result, **how, reference=X)
    first = home.reasons[0].feature
    spared = first.name not in {name for offer in home.offers for name in offer.changes}
    assert ("not need another value of" in flat(home)) == spared


def test_a_fact_is_told_in_the_language_of_the_letter(tmp_path):
    _, X, result = world()
    facts = {**GIVEN, **EU, "valid_until": "2999-01-31"}
    facts["consequences"] = {"en": "No loan is made.", "de": "Es kommt kein Kredit zustande."}
    facts.pop("dated", None)
    path = tmp_path / "bank.yaml"
    path.write_text(json.dumps(facts))
    house = Institution.read(path, reference=X)
    for language, words in facts["consequences"].items():
        assert words in flat(house.letter(result, "eu", language=language))
    assert "Nothing." in flat(house.letter(result, "eu", {"consequences": "Nothing."}))
    path.write_text(json.dumps({**facts, "consequences": {"de": "Nichts."}}))
    house = Institution.read(path, reference=X)
    with pytest.raises(ValueError, match="consequences is told in 'de', and the letter is in 'en'"):
        house.letter(result, "eu")
    assert letter(result, **GIVEN, reference=X), "a plain letter has no need of it"
    for wrong in ({"consequences": {"en": 5}}, {"organisation": {"en": "Bank"}}):
        path.write_text(json.dumps({**facts, **wrong}))
        with pytest.raises(ValueError, match="expected text"):
            Institution.read(path)


def test_a_letter_ends_no_later_in_the_day_than_its_promise(tmp_path):
    _, X, result = world()
    noon = datetime.datetime.combine(
        clock.today() + datetime.timedelta(days=9), datetime.time(12), datetime.UTC
    )
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        for end, last in ((noon, noon.date() - datetime.timedelta(days=1)), (noon.date(),) * 2):
            promise = ledger.promise(result, subject="1", valid_until=end)
            for days, ok in ((0, True), (1, False)):
                until = last + datetime.timedelta(days=days)
                made = letter(
                    result,
                    **{**GIVEN, **of_today(), "valid_until": until},
                    reference=X,
                    promise=promise,
                )
                if ok:
                    ledger.record_letter(promise.id, made.record())
                else:
                    with pytest.raises(LedgerError, match="UTC only; give a day that ends before"):
                        ledger.record_letter(promise.id, made.record())
