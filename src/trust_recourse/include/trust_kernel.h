/* The functions of a model's own kernel, for the exact engine of trust_recourse.
 *
 * A model offers bounds on a number of its own, between 0 and 1, over boxes of cells. Write the
 * functions in any language that can be called by C: C, C++, Rust, Cython, numba's @cfunc, cffi or
 * ctypes. Pass their addresses to trust_recourse.models.seam.TableKernel.
 *
 * Notation: d features, f. A span is 2 d cells: the first cell of each feature, then the last.
 * `memory` is what the kernel keeps of one box, as many doubles as the kernel's `memory` in Python
 * has. A part of a box begins with a copy of the memory of the whole.
 *
 * Rules: the functions do not raise, jump or keep pointers. Several threads may call them with the
 * same `self` at the same time, so they only read what it points to. A bound that is NaN says
 * nothing.
 */
#ifndef TRUST_KERNEL_H
#define TRUST_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[0] <= number <= out[1] on the span; out[2 + f] is how loose feature f makes these bounds.
 * Where none is above 0, the number is constant on the span. */
typedef void (*trust_interval)(void* self, const int64_t* span, double* out, const double* memory);

/* Optional. `memory` of a box that contains the span becomes the memory of the span. */
typedef void (*trust_narrow)(void* self, const int64_t* span, double* memory);

/* Optional. Points of the span whose number reaches the level within the budget have gains that sum
 * to at least the result. Where `side` is -1, 1 - number has to reach the level. There are `cells`
 * cells, those of the first feature first. `spend` is what each costs, infinite where it is beyond
 * reach; its gain is then -infinity. gains[cells] bounds the number of such points. Only the cells
 * of the span matter. */
typedef double (*trust_relaxation)(void* self, const int64_t* span, int64_t side, double level,
                                   int64_t cells, const double* spend, double budget, double* gains,
                                   double* memory);

/* The table. Functions that are optional may be NULL. */
typedef struct trust_kernel {
    void* self; /* the first argument of each function */
    trust_interval interval;
    trust_narrow narrow;
    trust_relaxation relaxation;
} trust_kernel;

#ifdef __cplusplus
}
#endif

#endif
