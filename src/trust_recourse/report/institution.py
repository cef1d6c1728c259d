"""What all letters of an institution share, and how a letter is written from it.

A file of facts may serve every profile: a letter takes from it what its own profile asks for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import yaml

from trust_recourse.files import read_whole
from trust_recourse.report.letter import Letter, letter
from trust_recourse.report.profiles import PROFILES, MissingFieldsError, Profile, date, profile_of
from trust_recourse.wording import near

if TYPE_CHECKING:
    from trust_recourse.result import Result

NEEDED = ("organisation", "contact", "valid_until")  # by every letter
SHARED = (*NEEDED, "person", "decision")
OF_ONE = ("person", *(name for kind in PROFILES.values() for name in kind.of_one))  # of one letter
MOST_BYTES = 1 << 20  # of a file of facts


@dataclass(frozen=True, eq=False)
class Institution:
    """Facts by their names, applicants to compare with, a list of reasons, languages."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    reference: Any = None
    reason_codes: Any = None
    catalogues: str | os.PathLike[str] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str] | None, **more: Any) -> Institution:
        """The institution of a YAML file; every fact in it is one that some profile knows."""
        if path is None:
            return cls(**more)
        try:
            facts = yaml.safe_load(read_whole(path, MOST_BYTES)) or {}
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: not YAML: {error}") from None
        if not isinstance(facts, dict):
            raise ValueError(f"{path}: expected fields, such as `address: 1 Main Street`")
        known = {*SHARED, *(name for kind in PROFILES.values() for name in names_of(kind))}
        for name in facts:
            if name not in known:
                raise ValueError(f"{path}: no profile has a field {name!r}{near(name, known)}")
        for name in SHARED:
            if name != "valid_until" and not isinstance(facts.get(name, ""), str):
                raise ValueError(f"{path}: {name}={facts[name]!r}; expected text")
        if "valid_until" in facts:
            facts["valid_until"] = date(f"{path}: valid_until", facts["valid_until"])
        return cls(facts, **more)

    def refuse_one_person(self, path: object) -> None:
        """Refuse facts of one person where every letter would have them."""
        if found := [name for name in self.facts if name in OF_ONE]:
            raise ValueError(
                f"{path}: {', '.join(found)}: of one person, and every letter of this server would "
                "say it; take it out of the file, and give it with each letter"
            )

    def letter(
        self, result: Result, profile: str = "plain", given: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Letter:  # fmt: skip
        """Write a letter by a profile; what is given goes before the institution's own facts.

        All that is missing is said at once; the rest is as `letter` takes it.
        """
        given = {name: value for name, value in (given or {}).items() if value not in ("", None)}
        shared = {name: given.pop(name, self.facts.get(name, "")) for name in SHARED}
        law = self._profile(profile, given, [name for name in NEEDED if shared[name] in ("", None)])
        return letter(
            result, **{**shared, "decision": shared["decision"] or None}, profile=law,
            reference=self.reference, reason_codes=self.reason_codes, catalogues=self.catalogues,
            **more,
        )  # fmt: skip

    def _profile(self, name: str, given: Mapping[str, Any], absent: Iterable[str]) -> Profile:
        kind = PROFILES.get(name, Profile)
        own = {each: told for each in names_of(kind) if (told := self.facts.get(each)) is not None}
        missing = [*absent, *["reference"] * (kind.by_shortfall and self.reference is None)]
        try:
            made = profile_of(name, {**own, **given})
        except MissingFieldsError as error:
            missing += error.names
        if missing:
            raise MissingFieldsError(name, tuple(missing))
        return made


def names_of(kind: type[Profile]) -> list[str]:
    """The fields that a profile has."""
    return [each.name for each in fields(kind)]
