// NumPy arrays as spans. A wrong dtype or layout raises TypeError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace trust {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> view(const Array<T>& array) {
    return {array.data(), array.size()};
}

// A NumPy array of elements T in the bytes of a vector, which it keeps alive.
template <class T, class Value>
nb::ndarray<nb::numpy, T> adopted(std::vector<Value> values,
                                  std::initializer_list<std::size_t> shape) {
    static_assert(sizeof(T) == sizeof(Value));
    auto kept = std::make_unique<std::vector<Value>>(std::move(values));
    void* data = kept->data();
    const nb::capsule owner(
        kept.get(), [](void* held) noexcept { delete static_cast<std::vector<Value>*>(held); });
    kept.release();
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> owned(std::vector<T> values) {
    const std::size_t n = values.size();
    return adopted<T>(std::move(values), {n});
}

// Bytes of 0 and 1 as booleans.
inline nb::ndarray<nb::numpy, bool> owned_flags(std::vector<char> flags,
                                                std::initializer_list<std::size_t> shape) {
    return adopted<bool>(std::move(flags), shape);
}

}  // namespace trust
