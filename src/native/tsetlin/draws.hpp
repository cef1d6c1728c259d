// Numbers drawn from a NumPy bit generator: the same stream as `Generator.random()`.
#pragma once
#include <cstdint>

namespace trust::tsetlin {

// The struct in the capsule "BitGenerator" of a bit generator, declared by NumPy as `bitgen_t`.
struct BitGenerator {
    void* state;
    std::uint64_t (*next_uint64)(void* state);
    std::uint32_t (*next_uint32)(void* state);
    double (*next_double)(void* state);
    std::uint64_t (*next_raw)(void* state);

    // Uniform on [0, 1). The caller holds the generator's lock.
    double uniform() const { return next_double(state); }
};

}  // namespace trust::tsetlin
