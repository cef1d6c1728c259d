// Kernels of users' own.
#include <memory>

#include "bindings/bindings.hpp"
#include "own/python_kernel.hpp"
#include "own/table_kernel.hpp"

namespace trust {

template <class F>
static F function_at(std::uintptr_t address) {
    return reinterpret_cast<F>(address);
}

// An object of Python as the owner of a table; the last owner need not hold the GIL.
static std::shared_ptr<void> kept(nb::object owner) {
    return {owner.release().ptr(), [](void* object) {
                const nb::gil_scoped_acquire held;
                nb::handle(static_cast<PyObject*>(object)).dec_ref();
            }};
}

void bind_own(nb::module_& m) {
    nb::class_<TableKernel, Kernel>(m, "TableKernel",
                                    "A kernel of C functions, see include/trust_kernel.h.")
        .def(
            "__init__",
            [](TableKernel* self, std::uintptr_t interval, std::uintptr_t narrow,
               std::uintptr_t relaxation, std::uintptr_t self_address, nb::object owner) {
                if (interval == 0) throw nb::value_error("TableKernel: interval has no address");
                const trust_kernel table{
                    function_at<void*>(self_address),
                    function_at<trust_interval>(interval),
                    function_at<trust_narrow>(narrow),
                    function_at<trust_relaxation>(relaxation),
                };
                new (self) TableKernel(table, kept(std::move(owner)));
            },
            nb::kw_only(), nb::arg("interval"), nb::arg("narrow") = 0, nb::arg("relaxation") = 0,
            nb::arg("self_address") = 0, nb::arg("owner") = nb::none(),
            "From the addresses of the functions and of what they are called with. `owner` is "
            "kept.");
    nb::class_<PythonKernel, Kernel>(m, "PythonKernel",
                                     "A kernel of an object with a method `intervals`.")
        .def(nb::init<nb::object>(), nb::arg("bounds"));
}

}  // namespace trust
