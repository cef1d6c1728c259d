"""Modules that take long to load and are seldom used: loaded when something of them is used."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

SELDOM = ("scipy.stats",)  # scikit-learn imports it


class _Deferred(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def defer_seldom() -> None:
    """Load modules that are seldom used when something of them is; those loaded stay."""
    for name in SELDOM:
        sys.modules.setdefault(name, _Deferred(name))
