# The types in C of what bets.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport digests, libm

cdef double ALPHA, DECAY, IDLE, RHO

cdef class Rows:
    cdef double[:, ::1] values, weights
    cdef int64_t[::1] size

@cython.locals(log=double, slope=double, rounded=double)
cpdef (double, double, double) growth(Rows rows, Py_ssize_t i, double x, double alpha, bint is_above) noexcept
@cython.locals(halvings=Py_ssize_t)
cpdef Py_ssize_t terms(double count, double away) noexcept
cpdef (double, double) mixture(Rows rows, Py_ssize_t i, Py_ssize_t bets, double x, bint is_above) noexcept
@cython.locals(total=double, slope=double)
cpdef (double, double) mixture_of(
    Rows rows, Py_ssize_t i, Py_ssize_t bets, double x, bint is_above, double alpha, double decay, double idle
) noexcept
cpdef Py_ssize_t bets_of(double[::1] counts, double[::1] sums, Py_ssize_t i, bint is_above) noexcept
@cython.locals(result=int64_t[::1])
cpdef object wide_bets(double[::1] counts, double[::1] sums, bint is_above)
@cython.locals(last=Py_ssize_t, now=Py_ssize_t, size=Py_ssize_t, low=double[::1], high=double[::1], values=double[:,
    ::1], weights=double[:, ::1], sizes=int64_t[::1])
cpdef object bounds(int64_t[::1] order, Rows first, Rows second, double[::1] counts, double[::1] sums, double level)
cpdef bint same(double[:, ::1] values, double[:, ::1] weights, int64_t[::1] sizes) noexcept
@cython.locals(log=double, slope=double)
cpdef double bound(Rows rows, Py_ssize_t i, Py_ssize_t bets, double mean, double level, bint is_above) noexcept
