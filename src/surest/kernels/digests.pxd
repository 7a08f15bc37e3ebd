# The types in C of what digests.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport libm

cpdef void add_all(
    double[:, ::1] values, double[:, ::1] weights, int64_t[::1] size, double[::1] counts, double[::1] sums,
    const int64_t[:] arms, const double[:] rewards, const double[:] times
) noexcept
cpdef void merge(
    double[:, ::1] values, double[:, ::1] weights, int64_t[::1] size, double[:, ::1] more_values,
    double[:, ::1] more_weights, int64_t[::1] more_size
) noexcept
cpdef Py_ssize_t insert(
    double[:, ::1] values, double[:, ::1] weights, Py_ssize_t i, Py_ssize_t size, double value, double weight
) noexcept
@cython.locals(least=double, cheapest=Py_ssize_t)
cpdef Py_ssize_t remove_cheapest(double[:, ::1] values, double[:, ::1] weights, Py_ssize_t i, Py_ssize_t size) noexcept
