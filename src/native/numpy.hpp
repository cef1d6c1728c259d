// NumPy arrays as spans. A wrong dtype or layout raises TypeError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>

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

}  // namespace trust
