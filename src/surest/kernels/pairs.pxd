# The types in C of what pairs.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t
from surest.kernels cimport libm

cdef double LARGEST_STAKE, POOLED, ROUNDED
cdef Py_ssize_t MANY_GAPS
cdef double[::1] GAPS, GAP_PRIOR

@cython.locals(first=Py_ssize_t, second=Py_ssize_t, other=Py_ssize_t, a=Py_ssize_t, j=Py_ssize_t, o=Py_ssize_t,
    groups=double, scatter=double, freedom=double, opponents=int64_t[::1], stakes=double[::1])
cpdef object place(
    const int64_t[:] arms, const int64_t[:] times, double[::1] counts, double[::1] sums, double[::1] squares,
    const uint8_t[:] is_open
)
cpdef double scattered(double count, double total, double squares) noexcept
@cython.locals(top=double, total=double, mean=double, square=double)
cpdef (double, double) likely_gap(double gap, double error, double unit) noexcept
@cython.locals(begin=Py_ssize_t, its_begin=Py_ssize_t, other=Py_ssize_t, groups=Py_ssize_t, log=double, moved=double,
    won=double, step=double)
cpdef void settle(
    double[::1] accounts, const int64_t[:] arms, const int64_t[:] times, const int64_t[:] opponents,
    const double[:] stakes, const double[:] rewards
) noexcept
@cython.locals(low=Py_ssize_t, high=Py_ssize_t, total=double)
cpdef double group_mean(const double[:] rewards, Py_ssize_t begin, Py_ssize_t many, Py_ssize_t g, Py_ssize_t groups) noexcept
