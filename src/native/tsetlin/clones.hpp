// Functions compiled for several levels of x86-64. The loader picks the widest that the processor
// has. All give the same bits: `sum_of` fixes the order of sums, and nothing is contracted.
//
// A macro, because an attribute cannot be chosen in any other way. CMake checks that the compiler
// and the C library support it. Helpers of a cloned function are inlined into it, or they would be
// compiled for the lowest level only.
#pragma once

#if defined(TRUST_HAVE_CLONES)
#define TRUST_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TRUST_CLONES
#endif
