"""Functions that compiled code alone calls: no machine code is made of them by themselves.

numba links every function with all that it calls, optimises that, and makes machine code of it,
once more for each function on the way up. Only what is called from Python, or by its address, needs
it: the rest is handed up as it is, and linked, optimised and made ready once.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
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


class Within(CompilerBase):
    """The pipeline of numba, which ends before machine code."""

    def define_pipelines(self) -> list[Any]:
        """The usual one, its last step another."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (_Lowering if each is NativeLowering else each, why) for each, why in pipeline.passes
        ]
        pipeline.finalize()
        return [pipeline]
