# The types in C of what philox.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint64_t
from surest.kernels cimport libm

cdef double TWO_TO_MINUS_53
cdef uint64_t ADD_0, ADD_1, LOW, MULTIPLY_0, MULTIPLY_2, WORD

@cython.locals(a_low=uint64_t, a_high=uint64_t, b_low=uint64_t, b_high=uint64_t, middle=uint64_t, other=uint64_t)
cpdef uint64_t high(uint64_t a, uint64_t b) noexcept
@cython.locals(c0=uint64_t, c1=uint64_t, c2=uint64_t, c3=uint64_t, high_0=uint64_t, low_0=uint64_t, high_2=uint64_t,
    low_2=uint64_t)
cpdef void fill(uint64_t[::1] block, uint64_t key_0, uint64_t key_1, uint64_t first, uint64_t last) noexcept
@cython.locals(word=uint64_t)
cpdef double uniform(uint64_t[::1] block, Py_ssize_t draw, uint64_t key_0, uint64_t key_1, uint64_t last) noexcept
@cython.locals(found=Py_ssize_t, draw=Py_ssize_t)
cpdef Py_ssize_t binomial(
    uint64_t[::1] block, Py_ssize_t times, double p, uint64_t key_0, uint64_t key_1, uint64_t last
) noexcept
@cython.locals(used=Py_ssize_t, block=uint64_t[::1], seed=uint64_t, key=uint64_t, last=uint64_t)
cpdef void draw_atoms(
    uint64_t[::1] keys, uint64_t[::1] requests, int64_t[::1] times, int64_t[::1] start, int64_t[::1] sizes,
    double[::1] probabilities, int64_t[::1] offset, int64_t[::1] places, int64_t[::1] counts
) noexcept
cpdef Py_ssize_t count_in(
    int64_t[::1] places, int64_t[::1] counts, Py_ssize_t at, Py_ssize_t used, Py_ssize_t place
) noexcept
