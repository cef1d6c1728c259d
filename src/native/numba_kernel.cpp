#include "numba_kernel.hpp"

#include <tuple>

namespace trust {

// numba passes an array as seven scalars: meminfo, parent, items, item size, data, shape, stride.
template <class T>
static auto array(const T* data, std::size_t many) {
    const void* none = nullptr;
    return std::tuple(none, none, i64(many), i64(sizeof(T)), data, i64(many), i64(sizeof(T)));
}
template <class T>
static auto array(const Array<T>& of) {
    return array(of.data(), of.size());
}
template <class Of>
static auto array(const Of& of) {
    return array(of.data(), of.size());
}

template <class R, class... Parts>
static R call(std::uintptr_t address, Parts... parts) {
    return std::apply(
        [address](auto... given) {
            return reinterpret_cast<R (*)(decltype(given)...)>(address)(given...);
        },
        std::tuple_cat(parts...));
}

static std::tuple<i64> none() { return {0}; }  // where a box's memory begins in the array given

void NumbaKernel::interval(Span span, double* out, const double* memory) {
    call<void>(at_.interval, array(numbers_), array(layout_), array(span),
               array(out, 2 + span.size() / 2), array(scratch_), array(memory, memory_), none());
}

void NumbaKernel::narrow(Span span, double* memory) {
    call<void>(at_.narrow, array(numbers_), array(layout_), array(span), array(memory, memory_),
               none());
}

double NumbaKernel::relaxation(Span span, i64 side, double level, std::span<const double> spend,
                               double budget, double* gains, double* memory) {
    return call<double>(at_.relaxation, array(numbers_), array(layout_), array(span),
                        std::tuple(side, level), array(spend), std::tuple(budget),
                        array(gains, spend.size() + 1), array(scratch_), array(memory, memory_),
                        none());
}

void NumbaKernel::errors(Span span, const i64* point, std::span<double> out, bool lasting) {
    call<void>(at_.errors, array(numbers_), array(layout_), array(span),
               array(point, span.size() / 2), array(out), array(scratch_), std::tuple(lasting));
}

}  // namespace trust
