"""Infer what a column describes: a personal attribute, a past event, a number that only rises.

The attributes are those that laws on discrimination name: in credit the Equal Credit Opportunity
Act (15 U.S.C. 1691(a)), in housing the Fair Housing Act (42 U.S.C. 3604), the Charter of
Fundamental Rights of the European Union (Article 21), the Equality Act 2010 of the United Kingdom
(section 4). Which of them holds for a decision is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from trust_recourse.io.wording import words_of
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.guess.levels import (
    EDUCATION,
    TIME_UNITS,
    Levels,
    levels,
    untold,
)
from trust_recourse.schema.guess.levels import word_set as _words


class Attribute(NamedTuple):
    """What a law protects, and the words by which columns are named for it."""

    title: str
    sure: frozenset[str]  # whatever stands beside them, but for OTHERWISE
    bare: frozenset[str] = frozenset()  # if what stands beside them says nothing else
    phrases: tuple[str, ...] = ()
    names: Mapping[str, int] = MappingProxyType({})  # whole, of known tables: the greatest code
    stems: tuple[str, ...] = ()  # how sure words begin, of languages that join them
    groups: frozenset[str] = frozenset()  # which of them; alone they may mean something else


# beside a word they say nothing else: of whom, in which unit, how coded
FILLER = _words(
    "a above an antragsteller antragstellers anzahl appl applicant applicants application at band "
    "before below bin borrower bracket bucket by cardholder cat category cd class client cnt co "
    "coapplicant code coded count current cust customer day days demographic derived driv driver "
    "employee encoded entry ever field flag grade group grp gruppe has head holder hohe id in ind "
    "indicator insured interval is jahr jahre jahren kunde kunden kundin less level main max "
    "member min monate month months more name no now num number observed of old over own owner "
    "patient person personal policyholder policyholders primary range receives recipient "
    "recipients reported respondent self status std student subject than the type under user val "
    "value var versicherter versicherungsnehmer worker x year years yr yrs zahl"
)
# beside a sure word they say that something else is named for it: a fee, a ratio, an offence
OTHERWISE = _words(
    "balance blind cost costs crime crimes equality equity fee fees fraction gap inequality kosten "
    "neutral offence offences offense offenses parity percent percentage price prices proportion "
    "quota rate ratio share"
)

ATTRIBUTES = (
    Attribute(
        "sex",
        _words("sex gender gndr geschl sexe sexo sesso genero kjonn"),
        _words("male female man woman men women anrede salutation"),
        ("gender identity",),
        stems=("geschlecht",),
    ),
    Attribute(
        "marital status",
        _words("marital maritalstatus marstat"),
        _words(
            "marriage married unmarried single divorced widowed spouse husband wife ledig mstatus"
        ),
        (
            "civil status", "family status", "personal status", "etat civil", "estado civil",
            "stato civile", "mar stat", "mar status", "in a relationship",
        ),
        {"mar": 5, "marhm": 2},
        ("familienstand", "zivilstand", "personenstand", "verheiratet", "geschieden", "verwitwet"),
    ),
    Attribute(
        "race or ethnic origin",
        _words("ethnicity ethnic racial"),
        _words("race rasse raza caste hispanic latino latina ethn minority"),
        ("skin color", "skin colour"),
        {"rac1p": 9, "rac2p": 68, "rac3p": 100, "hisp": 24, "anc": 8, "anc1p": 999},
        ("ethnie", "ethnisch"),
        _words(
            "white black asian hispanic latino latina native indian islander pacific pac african "
            "american amer alaska alaskan eskimo hawaiian caucasian mixed biracial multiracial or "
            "other two"
        ),
    ),
    Attribute(
        "nationality or origin",
        _words(
            "nationality nacionality nationalite nacionalidad nazionalita nacionalidade "
            "citizenship foreigner immigrant birthplace birthcountry refugee "
            "muttersprache"
        ),
        _words("citizen foreign immigration migrant nativity alien international"),
        (
            "national origin", "native country", "country of birth", "birth country",
            "place of birth", "birth place", "foreign worker", "foreign born", "native language",
            "mother tongue", "first language", "primary language", "migration background",
            "visa status", "residence permit", "international student",
        ),
        {"pobp": 999, "cit": 5},
        (
            "nationalitat", "staatsang", "staatsburger", "migrationshinter", "auslander",
            "geburtsland", "geburtsort", "aufenthaltstitel",
        ),
    ),
    Attribute(
        "religion or belief",
        _words("religious"),
        _words("faith denomination church"),
        stems=("religion", "konfession", "kirchensteuer", "glaubens"),
    ),
    Attribute(
        "disability",
        _words("disability disabilities handicapped discapacidad deficiencia"),
        _words("disabled handicap"),
        ("special needs",),
        {"dis": 2, "dear": 2, "deye": 2, "drem": 2, "dphy": 2, "dout": 2, "ddrs": 2},
        ("behinderung", "schwerbehinder"),
    ),
    Attribute(
        "pregnancy or maternity",
        _words("pregnant pregnancy pregnancies maternity embarazo"),
        stems=("schwanger", "mutterschutz"),
    ),
    Attribute(
        "sexual orientation", _words("lgbt lgbtq transgender"), phrases=("sexual orientation",)
    ),
    Attribute(
        "children or dependants",
        _words("dependents dependants"),
        _words("children kids kinder famsize"),
        (
            "familial status", "parental status", "single parent", "people liable",
            "family size", "family members", "fam members", "household size",
        ),
        stems=("kinderanzahl", "kinderzahl", "alleinerziehend", "unterhaltspflicht"),
    ),
    Attribute(
        "political opinion",
        frozenset(),
        _words("political"),
        ("political opinion", "political party", "party affiliation", "party membership"),
    ),
    Attribute(
        "trade-union membership",
        frozenset(),
        _words("unionized unionised"),
        ("trade union", "union member", "union membership"),
        stems=("gewerkschaft",),
    ),
    Attribute(
        "public assistance",
        frozenset(),
        _words("welfare burgergeld grundsicherung wohngeld"),
        ("public assistance", "social assistance", "food stamps", "welfare benefits"),
        stems=("sozialhilfe",),
    ),
    Attribute(
        "age",
        _words("dob yob birthday birthdate birthyear"),
        _words(
            "age aged agegrp agegroup ageband agecat agerange agebin ageyears drivage alter alters "
            "born edad idade leeftijd alder birth"
        ),
        (
            "senior citizen", "years old", "date of birth", "year of birth", "birth date",
            "birth year", "card holder age", "policy holder age", "account holder age",
        ),
        {"agep": 120},
        ("geburtsdatum", "geburtsjahr", "geburtstag", "lebensalter", "altersgrupp", "altersklass"),
    ),
)  # fmt: skip
# when somebody was so old: as they applied, borrowed or enrolled
AGE_AT = re.compile(rf"(({'|'.join(sorted(FILLER))}) )*(age|alter) (at|when|bei) .+")

# values that tell by themselves: words of two sets together, or two words of one
MEN = _words("male man men mr herr husband mannlich maennlich homme hombre masculino masculin uomo")
WOMEN = _words(
    "female woman women mrs ms miss frau wife weiblich femme mujer femenino feminin donna"
)
MARITAL = _words(
    "married unmarried divorced widowed widow widower couple cohabiting verheiratet geschieden "
    "ledig verwitwet divorcee celibataire casado soltero divorciado viudo sposato celibe"
)
COLOURS = _words("white black caucasian")
ORIGINS = _words("asian hispanic latino latina islander eskimo indian native african multiracial")
BELIEFS = _words("christian catholic protestant muslim islam jewish hindu buddhist sikh atheist")
LETTERS = frozenset("mf")  # if there are no others
OTHER = _words("other none u x o n a diverse d")  # beside them

PAST = re.compile(
    r"\b(delinq\w*|delq|arrears?|overdue|bankrupt\w*|foreclos\w*|derog\w*|convict\w*|arrest(s|ed)?"
    r"|late(?! (fees?|charges?|penalty|penalties|night|stage|shift|start))|dpd|missed"
    r"|(history|hist)(?! (len|length|months|years))|historical|previous|prev|priors?|past|inq"
    r"|last(?! (names?|nm|mile|resort))|lags?|lagged|ago"
    r"|inquir(y|ies)|enquir(y|ies)|earliest|since|collections|charge ?offs?|charged off"
    r"|write ?offs?|pub rec|public records?|defaulted|defaults|failures|failed|repossess\w*"
    r"|((re)?payments?|instal?lments?|deposits?|withdrawals?|purchases?|transactions?) made"
    r"|evict(ed|ions?)|insolven\w*|garnish\w*|bounced|judge?ments|tax liens?|liens"
    r"|accidents?(?! (benefits?|cover|coverage|insurance|forgiveness|limit))|at fault"
    r"|claims?(?! (adjuster|center|cover|coverage|deductible|handling|limit|ratio|service))"
    r"|violations?|(speeding|traffic) (tickets?|fines?|offen[cs]es?)|duis?|dwis?|felon(y|ies)"
    r"|misdemean\w*|criminal|crim(inal)? rec(ord)?s?"
    r"|verzug|zahlungsverzug|mahnung(en)?|ruckstande?|ruckzahlungsruckstande?|atrasos?|impagos?"
    r"|vorstrafen?|vorbestraft|schufa (eintrag\w*|negativ\w*)|schufaeintrag\w*|negativmerkmal\w*"
    r"|inkasso\w*|pfandung\w*|rucklastschrift(en)?|privatinsolvenz|unfalle?|vorschaden)\b"
)
DEFAULTED = _words("default defaults defaulted")
PAID_IN = re.compile(r"pay_?\d+", re.IGNORECASE)  # so many months late with the n-th payment
MONTHS_LATE = (-2, 12)
LAG = re.compile(r"(?<![^\W\d_])t\s?[-−]\s?\d{1,2}(?!\d)", re.IGNORECASE)  # sales_t-1
PASSING = frozenset(("since", "last", "history", "hist"))  # of the past, and time goes on from it
# the whole of a name, but for whom, which and in what unit: of a loan's tenure none of it is true
_TIME, _NOW = "(years|yrs|months|mths|mos)", "((the|this|current|curr|present) )*"
RISING = re.compile(
    "((num|number|nr|count|total|of|the|current|curr|present|cb|person|applicant|borrower|employee"
    "|cust|customer|client) )*"
    "((m|mo|mths?|months?|d|days?|weeks?|y|yrs?|years?|time) since .+|(employment|residence) since"
    "|(employment|emp|job|company|employee|customer|client|member|membership) tenure"
    "|(employment|service|company|customer) seniority"
    f"|tenure (at|with|in) {_NOW}(company|employer|job|bank)"
    f"|(len|length|duration|{_TIME}) of (employment|service|residence|(work )?experience"
    "|membership|relationship|(credit )?history)"
    "|(emp|employment|service|residence|residency|relationship) (len|length)"
    "|(employment|residence|relationship) duration"
    f"|((credit|cred|cr) )?(history|hist) (len|length|{_TIME})"
    "|(employment|emp|job|residence|residency|address|home|account|acct|relationship|customer"
    f"|client|(work )?experience) {_TIME}"
    "|(work|working|service|member|membership) (years|yrs)|(years|yrs) (of work|worked|working)"
    f"|(days|{_TIME}|time) employed|{_TIME} (resident|(work )?experience)"
    f"|({_TIME}|time) on (the )?books?"
    f"|{_TIME} (at|in|with) {_NOW}(home|work|business|service|manager)"
    f"|({_TIME}|time) (at|in|with) {_NOW}(address|residence|job|employer|employment|company|bank"
    "|position|role)"
    "|(account|acct|relationship) age|age of (the )?(oldest )?(account|acct|relationship)"
    ")( in)?( (years|yrs|months|mths|mos|weeks|days))?"
)
AGED = _words(
    "age agep in years yrs of the at current person applicant borrower client customer employee "
    "patient driver insured group band range bracket category"
)
SCHOOLING = _words("education educational educ schooling edu")
SCHOOLED = _words("years yrs num number")  # beside them a number rises with it; codes may fall
SCHOOLS = SCHOOLING | _words("school degree diploma qualification academic highest completed")
YEAR = _words("year yr jahr annee ano anno")
YEARS = (1900, 2100)
NAMING = _words(
    "id ids uuid guid key ref ssn iban rowid custid customerid userid loanid unnamed matrikel"
)
INDEX = _words("index idx")
ROWS = _words("case data line record row sample table")
NUMBERS = (["no"], ["nr"], ["num"], ["number"], ["nummer"])
NUMBERED = re.compile(r"\w+(nummer|nr)")  # of languages that join words
MEASURES = _words("score fico rating bureau bmi glucose pressure height weight cholesterol pulse")
OWED = _words(
    "bal balance balances debt debts due instalment instalments installment installments liability "
    "liabilities loan loans mortgage mortgages outstanding overdraft owed owing payment payments "
    "repayment repayments schuld schulden deuda deudas dette dettes"
)
NO_SUM = _words(  # beside them it is no sum of money
    "age apr category class code count date day days delay duration flag frequency grade history "
    "id income index interest late length level limit method missed month months no nr num number "
    "past pct percent plan purpose rank rate rates rating ratio risk score share since status "
    "tenure term terms time times to type utilisation utilization week weeks year years"
)
ASKED_FOR = _words("loan amount amt applied for new of requested size sum the")
PER = re.compile(r"\b(a|each|every|per) (day|month|week|year)\b")
SEVERAL = 1000  # codes of an attribute at most; what has more is measured


def _spellings(words: list[str]) -> tuple[list[str], ...]:
    """Words as they are, and with the umlauts that are spelt in two letters as words_of has them.

    >>> _spellings(["staatsangehoerigkeit"])
    (['staatsangehoerigkeit'], ['staatsangehorigkeit'])
    """
    short = [re.sub("([aou])e", r"\1", word) for word in words]
    return (words,) if short == words else (words, short)


def attribute(feature: Feature) -> str | None:
    """What a column tells of who a person is, in words, and how it is known; None if nothing does.

    What people read tells it too: its label, and the words for its values.

    >>> attribute(Feature("CODE_GENDER", "integer", lower=0, upper=1))
    "a person's sex, by its name"
    >>> attribute(Feature("x1", label="Age"))
    "a person's age, by its label"
    >>> attribute(Feature("title", "category", values=("Mr", "Mrs")))
    "a person's sex, by its values"
    >>> attribute(Feature("age_of_car"))
    """
    told: dict[str, str] = {}
    for title in _by_words(feature, feature.name):
        told.setdefault(title, "name")
    for title in _by_words(feature, feature.label):
        told.setdefault(title, "label")
    held = [*_by_values(feature)]
    known = [*dict.fromkeys(told.values()), *["values"] * bool(held)]
    titles = dict.fromkeys([*told, *held])
    return f"a person's {' and '.join(titles)}, by its {' and '.join(known)}" if titles else None


def past(feature: Feature) -> str | None:
    """How a column records the past, as text; None if its name does not show it.

    Time since something has happened passes, and so does that of a history: a schema that lets it
    rise is right, unless something went wrong, as with months since an arrest.

    >>> past(Feature("months late in April", "integer"))
    'records the past, by its name (late)'
    >>> past(Feature("PAY_0", "integer", lower=-2, upper=8)), past(Feature("PAY_AMT1", "integer"))
    ('records the past, by its name (months late with a payment)', None)
    """
    words = words_of(feature.name)
    lines = [" ".join(spelt) for spelt in _spellings(words)]
    found = next(filter(None, ([e[0] for e in PAST.finditer(line)] for line in lines)), [])
    if {*found} <= PASSING and feature.direction == "increase" and rises(feature):
        return None
    if lag := LAG.search(feature.name):
        found = [lag[0]]
    if found:
        return f"records the past, by its name ({found[0]})"
    if len({*words} & DEFAULTED) == 1 and {*words} <= DEFAULTED | FILLER:
        return "records the past, by its name (default)"
    if PAID_IN.fullmatch(feature.name) and _within(feature, *MONTHS_LATE):
        return "records the past, by its name (months late with a payment)"
    if YEAR & {*words} and (_within(feature, *YEARS) or (words == ["year"] and _whole(feature))):
        return "the year in which something happened, by its name"
    return None


def rises(feature: Feature) -> str | None:
    """Why a column can only rise, in words; None if neither name nor values say so.

    >>> rises(Feature("years_at_address", "integer"))
    'time passes (years at address)'
    >>> rises(Feature("education", "ordinal", values=("primary", "secondary")))
    'schooling is not lost'
    """
    if feature.kind in ("category", "boolean") or _within(feature, *YEARS) or _below_zero(feature):
        return None
    order = None if feature.numeric else levels(feature.values, feature.name)
    words = words_of(feature.name)
    counts = f" {order.of}s" if order and order.of in TIME_UNITS else ""
    measured = feature.numeric or bool(counts)
    limited = "since" not in words and re.search(r"\d", feature.name)  # to the last 12 months, say
    line = " ".join(words) + counts
    if measured and not limited and RISING.fullmatch(line):
        return f"time passes ({line})"
    if measured and {*words} & {"age", "agep"} and {*words} <= AGED and attribute(feature):
        return "time passes (age)"
    if words == ["schl"] and _codes(feature, 24):
        return "schooling is not lost"
    return "schooling is not lost" if _taught({*words}, order) else None


def _taught(words: set[str], order: Levels | None) -> bool:
    """Whether levels are of schooling, or a number counts its years: not what it cost."""
    if order is None:
        both = bool(words & SCHOOLING) and bool(words & SCHOOLED)
        return both and words <= SCHOOLING | SCHOOLED | {"of", "in"}
    if not words & SCHOOLS or not words <= SCHOOLS | FILLER:
        return False
    return order.of == EDUCATION or (bool(words & SCHOOLING) and order.of != "")


def _below_zero(feature: Feature) -> bool:
    return feature.numeric and feature.lower is not None and feature.bounds[0] < 0


def _by_words(feature: Feature, name: str) -> Iterator[str]:
    """What the name of a column, or its label, says that it holds."""
    written = words_of(name)
    whole = re.sub(r"\W", "", name.lower())
    for each in ATTRIBUTES:
        known = whole in each.names and _codes(feature, each.names[whole])
        if known or any(_named(each, words, feature) for words in _spellings(written)):
            yield each.title


def _named(about: Attribute, words: list[str], feature: Feature) -> bool:
    """Whether the words of a name say that a column is about an attribute."""
    line, told = " ".join(words), {*words}
    if any(f" {phrase} " in f" {line} " for phrase in about.phrases):
        return True
    sure = (told & about.sure) | {word for word in told if word.startswith(about.stems)}
    ours = sure | (told & about.bare)
    if ours and told <= ours | about.groups | FILLER:
        return True
    if about.title == "age" and AGE_AT.fullmatch(line):
        return True
    return bool(sure) and not told & OTHERWISE and _coded(feature)


def _by_values(feature: Feature) -> Iterator[str]:
    shown = map(str, (*feature.values, *feature.words.values()))
    values = [words_of(value) for value in shown if not untold(value)]
    words = frozenset(word for each in values for word in each)
    alone = frozenset(each[0] for each in values if len(each) == 1)
    if (words & MEN and words & WOMEN) or (alone - OTHER == LETTERS and words <= alone):
        yield "sex"
    if len(words & MARITAL) > 1 or (words & MARITAL and "single" in words):
        yield "marital status"
    if words & COLOURS and words & ORIGINS:
        yield "race or ethnic origin"
    told = [" ".join(each) for each in values]
    if "welfare" in words or {"public assistance", "social assistance"} & {*told}:
        yield "public assistance"
    if len(words & BELIEFS) > 1:
        yield "religion or belief"


def _codes(feature: Feature, most: int) -> bool:
    """Whether its values are words, or whole numbers up to the greatest code."""
    return not feature.numeric or _within(feature, 0, most)


def _coded(feature: Feature) -> bool:
    """Whether its values are words or a few whole numbers: nobody's sex is 0.482."""
    low, high = feature.bounds
    return not feature.numeric or (_whole(feature) and high - low <= SEVERAL)


def _whole(feature: Feature) -> bool:
    return feature.kind == "integer" or (feature.numeric and (feature.step or 0.0) >= 1.0)


def _within(feature: Feature, least: float, most: float) -> bool:
    low, high = feature.bounds
    return _whole(feature) and least <= low <= high <= most


def measured(name: str) -> bool:
    """Whether a name says that its values are above 0, as a score is.

    >>> measured("bureau_score"), measured("savings")
    (True, False)
    """
    return bool({*words_of(name)} & MEASURES)


def owed(name: str) -> bool:
    """Whether a name says that its values are sums that are owed or paid, which may be 0.

    >>> owed("card_debt"), owed("MonthlyPayment"), owed("loan_term"), owed("loan_amount")
    (True, True, False, False)
    """
    words = {*PER.sub("", " ".join(words_of(name))).split()}
    return bool(words & OWED) and not words & NO_SUM and not words <= ASKED_FOR


def names_rows(name: str) -> bool:
    """Whether a name says that a column only names the rows, or who they are of.

    >>> names_rows("Customer_ID"), names_rows("loan number"), names_rows("number of loans")
    (True, True, False)
    >>> names_rows("Kundennummer"), names_rows("row index"), names_rows("price_index")
    (True, True, False)
    """
    words = words_of(name)
    if {*words} & NAMING or any(map(NUMBERED.fullmatch, words)):
        return True
    if {*words} & INDEX:
        return {*words} <= INDEX | ROWS | FILLER
    several = len(words) > 1 and words[-2].endswith("s") and not words[-2].endswith(("ss", "us"))
    return words[-1:] in NUMBERS and not several
