"""Who a person is and what has happened are told by name and values, and other columns are not."""

from __future__ import annotations

import numpy as np
import pytest

from trust_recourse import Feature, Schema
from trust_recourse.schema.guess.infer import spread
from trust_recourse.schema.guess.meaning import attribute, names_rows, past

NAMED = {  # as real tables name them: UCI's, Home Credit's, LendingClub's, HMDA's and others
    "sex": "sex SEX CODE_GENDER gender_male isFemale Geschlecht sexo status_and_sex GESCHL anrede "
    "applicant_sex co_applicant_sex Sex_male gender_index Geschlecht_Kunde",
    "age": "age AGE_CLIENT age-group AgeInYears Âge DAYS_BIRTH dob birthYear SeniorCitizen AGEP "
    "Age_at_enrollment age_at_loan Age_at_issue AgeAtEntry age_at_application agegrp AgeBand "
    "DrivAge drivage driver_age Alter Alter_Antragsteller alter_jahre Alter_bei_Antrag Lebensalter "
    "Geburtsjahr AltersGruppe card_holder_age CUST_AGE Age_yrs",
    "marital status": "marital-status MARRIAGE NAME_FAMILY_STATUS Familienstand estado_civil "
    "mar_status personal_status zivilstand Zivilstand_Kunde Personenstand married single "
    "marriage_status",
    "race or ethnic origin": "race ethnicity RAC1P skin_color derived_race race_white race_Black "
    "race_Asian-Pac-Islander applicant_race_1 minority ethnische_Herkunft",
    "nationality or origin": "nationality native-country foreign_worker country_of_birth Citizen "
    "Nacionality Staatsang. staatsangehoerigkeit Staatsangehörigkeit Staatsbürgerschaft "
    "nationalitaet Nationalität Migrationshintergrund migrationshintergrund Ausländer "
    "International visa_status Muttersprache immigration_status",
    "religion or belief": "religion RELIGIOUS_AFFILIATION religionszugehoerigkeit Konfession",
    "disability": "disability has_disability handicapped Educational_special_needs handicap "
    "Behinderungsgrad Grad_der_Behinderung schwerbehindert Schwerbehinderung",
    "pregnancy or maternity": "pregnant Pregnancies Schwangerschaft",
    "children or dependants": "NumberOfDependents CNT_CHILDREN kinder_anzahl anzahl_kinder "
    "Kinderzahl num_kids people_liable CNT_FAM_MEMBERS single_parent alleinerziehend",
    "trade-union membership": "union_member unionized Gewerkschaftsmitglied",
    "public assistance": "public_assistance welfare_recipient Sozialhilfe Bürgergeld",
}
HAPPENED = (
    "months late in April;delinq_2yrs;num_late_payments;NumberOfTimes90DaysLate;credit_history;"
    "mths_since_last_delinq;NumInqLast6M;pub_rec_bankruptcies;priors_count;default;previous;PAY_0;"
    "PAY_6;Mahnungen;year;accidents;at_fault_accidents;accident_count;num_claims;ClaimNb;"
    "claims_last_5y;prior_claims;no_claim_years;violations;traffic_violations;speeding_tickets;dui;"
    "DUIS;felony;felonies;criminal_record;Vorstrafen;vorbestraft;judgments;num_judgements;tax_liens;"
    "tax_lien;Schufa_Eintrag;schufa_eintraege;SchufaEintrag;failures;defaulted_before;has_defaulted;"
    "ever_default;evictions;insolvency;Insolvenzen;Zahlungsverzug;Rückstände;rueckstaende;"
    "Pfaendungen;Unfälle;failed_payments;payments_made_12m;repayments made;NumInstallmentsMade"
)
OTHERS = (
    "checking_status payments_due age_of_car OWN_CAR_AGE account_age AgeOfOldestAccount "
    "building_age page wage mileage mortgage "
    "average_usage stage sextant race_time male_share manager country foreign_transactions union "
    "account_disabled political_risk single_premium status income PAY_AMT1 BILL_AMT2 plate "
    "default_currency income_per_year relationship late_fee LateFees late_night_orders history_len "
    "credit_history_length gender_pay_gap marriage_loan handicap_golf golf_handicap "
    "immigration_fee sex_offences_in_area refugee_share VehAge veh_age house_age_at_sale "
    "age_on_book alter_ego altersvorsorge geschlossen "
    "international_plan Auslandserfahrung household_income "
    "household_debt family_income white black race_track_distance children_policy house_age "
    "foreign_currency_loan union_rate native wife_income disabled_account support_tickets "
    "ticket_price ticket lien_status tax crime_rate accident_insurance accident_coverage "
    "claim_limit claims_ratio claims_handling judgment_score schufa_score fault_code "
    "fail_rate semesters absences studytime credits duration term savings debt_ratio employees "
    "branch region zip language education job seniority tenure deductible premium bonus_malus "
    "density power annual_mileage bmi height_cm weight smoker coverage gpa sat_math attendance "
    "major research lunch address nodes proline magnesium alcohol malic_acid Flavanoids hue"
)


def coded(name, **how):
    return Feature(name, "integer", lower=0, upper=9, **how)


@pytest.mark.parametrize("title", NAMED)
def test_what_laws_protect_is_known_by_its_name(title):
    for name in NAMED[title].split():
        assert attribute(coded(name)) == f"a person's {title}, by its name", name


@pytest.mark.parametrize("name", OTHERS.split())
def test_names_that_only_sound_so_raise_no_alarm(name):
    assert attribute(coded(name)) is None
    assert past(coded(name)) is None


@pytest.mark.parametrize(
    ("values", "title"),
    [
        (("female", "male", "unknown"), "sex"),
        (("F", "M"), "sex"),
        (("Herr", "Frau"), "sex"),
        (("man, single", "woman, divorced or married"), "sex and marital status"),
        (("Husband", "Wife", "Own-child"), "sex"),
        (("married", "single"), "marital status"),
        (("divorced", "widowed"), "marital status"),
        (("White", "Black", "Asian-Pac-Islander"), "race or ethnic origin"),
        (("catholic", "muslim", "none"), "religion or belief"),
        (("single", "joint"), None),  # accounts
        (("white", "black", "red"), None),  # cars
        (("asian", "african", "italian"), None),  # restaurants
        (("f", "m", "s"), None),
        (("married",), None),
    ],
)
def test_what_laws_protect_is_known_by_its_values(values, title):
    found = attribute(Feature("x1", "category", values=values))
    assert found == (title and f"a person's {title}, by its values")


def test_what_laws_protect_is_known_by_what_people_read():
    for shown, by in (
        ({"label": "Gender of the applicant"}, "label"),
        ({"labels": {0: "female", 1: "male"}}, "values"),
        ({"label": "Gender", "labels": {0: "female", 1: "male"}}, "label and values"),
    ):
        feature = Feature("x1", "integer", lower=0, upper=1, **shown)
        assert attribute(feature) == f"a person's sex, by its {by}"
    assert attribute(Feature("age", label="Age")) == "a person's age, by its name"
    assert attribute(Feature("x1", label="Age of the car")) is None


@pytest.mark.parametrize(
    ("name", "most", "title"),
    [
        ("MAR", 5, "marital status"), ("DIS", 2, "disability"), ("CIT", 5, "nationality or origin"),
        ("NATIVITY", 2, "nationality or origin"), ("RAC1P", 9, "race or ethnic origin"),
        ("DEYE", 2, "disability"), ("SEX", 2, "sex"), ("AGEP", 99, "age"),
        ("HISP", 24, "race or ethnic origin"), ("POBP", 554, "nationality or origin"),
        ("MAR", 900, None), ("CIT", 70, None), ("dis", 12, None),  # March, citations, distance
    ],
)  # fmt: skip
def test_names_of_the_census_are_known_by_their_codes_too(name, most, title):
    for feature in (
        Feature(name, "integer", lower=1, upper=most),
        Feature(name, lower=1, upper=most, step=1),
    ):
        assert attribute(feature) == (title and f"a person's {title}, by its name")
    assert attribute(Feature("dis", lower=1.1, upper=1.9, step=0.1)) is None


def test_a_share_of_people_is_nobodys_sex():
    assert attribute(Feature("sex_ratio", lower=0.4, upper=0.6, step=0.001)) is None
    assert attribute(Feature("ethnic diversity index", lower=0, upper=1, step=0.01)) is None
    assert attribute(Feature("sex", lower=-0.9, upper=1.1, step=0.1)) is not None  # scaled


def test_what_has_happened_is_known_by_its_name():
    for name in HAPPENED.split(";"):
        assert past(coded(name)), name
    assert past(Feature("PAY_1", "integer", lower=0, upper=900)) is None  # an amount
    assert past(Feature("model_year", "integer", lower=1998, upper=2024))
    assert past(Feature("salary_year", "integer", lower=9000, upper=90000)) is None


IDS = (
    "ID;customerID;policy_id;loan_number;SK_ID_CURR;row index;index;application_no;Serial No.;"
    "Kundennummer;Kunden Nr.;Vertragsnr;Matrikelnummer;Kontonr;Unnamed: 0;customer_key;address_no"
)
NO_IDS = (
    "paid;number_of_loans;kidney;valid;price_index;body_mass_index;loans_number;accounts_no;"
    "Anzahl;num_claims;income;numerus"
)


@pytest.mark.parametrize("name", IDS.split(";"))
def test_ids_are_known_by_their_name(name):
    assert names_rows(name)


@pytest.mark.parametrize("name", NO_IDS.split(";"))
def test_counts_and_measures_are_no_ids(name):
    assert not names_rows(name)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([*range(101)], 90),
        ([*range(100), 1_700_000], 90),  # one outlier changes nothing
        ([0] * 60 + [*range(100, 140)], 137),  # of those who have any, from 0
        ([0] * 60 + [-5] * 40, 5),
        ([20] * 575 + [*range(100, 400, 13)] + [1_700_000], 366),  # from 20
        ([20] * 60 + [0] * 40, 20),
        ([600] * 98 + [500, 650], 50),
        ([0, 1] * 20, 1),
        ([7] * 9, 1),
        ([1, 5], 4),
    ],
)
def test_a_robust_scale_is_that_of_the_usual_values(values, scale):
    assert spread("x", np.array(values, dtype=float), "robust") == scale
    assert Schema.infer(np.array([values]).T, scale="robust")["x0"].scale == scale


def test_quantiles_that_are_the_same_are_those_of_the_others():
    paid = np.array([20.0] * 575 + [*range(100, 400, 13)] + [1_700_000])
    assert spread("x", paid, "quantile") == spread("x", paid, "robust")
    assert spread("x", paid, "range") == 1_699_980


def test_notes_stand_above_their_feature_and_say_nothing_to_who_reads_the_file(tmp_path):
    schema = Schema((Feature("a"), Feature("b", mutable=False))).relate("a <= b")
    text = schema.to_yaml(tmp_path / "s.yaml", {"b": ["stays: \x1b[2J\n- name: c", "two"]})
    assert "# stays:  [2J - name: c\n# two\n- name: b\n  mutable: false\n" in text
    assert Schema.from_yaml(tmp_path / "s.yaml") == schema


@pytest.mark.parametrize(
    ("name", "values", "title"),
    [
        ("who", ("men", "women"), "sex"),
        ("stand", ("couple", "widow"), "marital status"),
        ("income source", ("public assistance", "wage"), "public assistance"),
        ("income source", ("wage", "welfare"), "public assistance"),
        ("income source", ("assistance", "wage"), None),
        ("years_old", ("1", "2"), "age"),
        ("church", ("yes", "no"), "religion or belief"),
    ],
)
def test_values_and_names_tell_who_somebody_is(name, values, title):
    told = attribute(Feature(name, "category", values=values))
    assert (told and told.partition(", by")[0]) == (title and f"a person's {title}")
