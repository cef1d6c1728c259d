"""numba's compiler, so that a first answer waits for less.

Functions that compiled code alone calls: no machine code is made of them by themselves. numba links
every function with all that it calls, optimises that, and makes machine code of it, once more for
each function on the way up. Only what is called from Python, or by its address, needs it: the rest
is handed up as it is, and linked, optimised and made ready once.

And what an operator makes of its types is looked up once: numba tries all that it knows of `+`
wherever it stands.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):
    """The code of one function, to be linked into what is made ready to run."""

    def finalize(self) -> None:
        """Nothing is left to do here."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "lowering_within"

    def run_pass(self, state: Any) -> bool:
        part = state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.cr = state.cr._replace(cfunc=part)  # by which its callers know it
        whole = [*dict.fromkeys([part, *part._linking_libraries])]
        state.targetctx.insert_user_function(part, state.cr.fndesc, whole)
        return True


class Quick(Compiler):
    """The pipeline of numba, which remembers what functions of its own make of types."""

    depth = 0

    def compile_extra(self, func: Any) -> Any:
        """Compile one function, perhaps inside another; the lock of numba is held."""
        collecting = gc.isenabled()
        gc.disable()  # next to nothing of what compiling makes is given up before its end
        Quick.depth += 1
        try:
            return super().compile_extra(func)
        finally:
            Quick.depth -= 1
            if collecting:
                gc.enable()


def _remembering(look_up: Callable[..., Any]) -> Callable[..., Any]:
    """How types are looked up: once by the same flags, where it is ours that is compiled."""
    known: dict[str, dict[Any, Any]] = {}  # by flags
    flags, here = None, {}

    def looked_up(self: Any, context: Any, args: Any, kws: Any) -> Any:
        nonlocal flags, here
        if Quick.depth == 0 or kws:
            return look_up(self, context, args, kws)
        if (top := ConfigStack.top_or_none()) is not flags:
            flags, here = top, known.setdefault(top.summary(), {})
        key, among = (self, tuple(args)), here
        if key not in among:
            made = look_up(self, context, args, kws)
            among[key] = made, self._impl_keys[made.args]
        made, self._impl_keys[made.args] = among[key]  # which other flags may have set since
        return made

    return looked_up


types.Function.get_call_type = _remembering(  # type: ignore[method-assign]
    types.Function.get_call_type
)


class Within(Quick):
    """A pipeline that ends before machine code."""

    def define_pipelines(self) -> list[Any]:
        """The usual one, its last step another."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (_Lowering if each is NativeLowering else each, why) for each, why in pipeline.passes
        ]
        pipeline.finalize()
        return [pipeline]
