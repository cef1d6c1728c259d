"""Modules that take long to load and are seldom used: loaded when something of them is used."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

SELDOM = ("scipy.stats",)  # scikit-learn imports it


class _Later(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def put_off() -> None:
    """Put off loading modules that are seldom used; those already loaded stay."""
    for name in SELDOM:
        sys.modules.setdefault(name, _Later(name))
