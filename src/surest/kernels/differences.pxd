# The types in C of what differences.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport bets, certificates, libm
from surest.kernels.bets cimport Rows
from surest.kernels.certificates cimport Point

cdef double BAR_ALPHA, BAR_DECAY, BAR_IDLE, BOUNDS, CLOSE, NEAR

@cython.locals(above=double[::1], below=double[::1])
cpdef object weigh(Rows rows, double[::1] counts, double[::1] sums, int64_t[::1] arms, double low, double high)
@cython.locals(bound=double, least=double, rise=double)
cpdef (double, double, double) exceeds(
    Rows rows, double[::1] counts, double[::1] sums, Py_ssize_t i, Py_ssize_t j, double gap, double start, double goal
) noexcept
@cython.locals(better=double[::1], worse=double[::1])
cpdef object compare(
    Rows rows, double[::1] counts, double[::1] sums, int64_t[::1] arms, Py_ssize_t control, double low,
    double high, double[:, ::1] starts, double goal
)
@cython.locals(apart=double, gap=double, value=double, slope=double, x=double)
cpdef double surely(
    Rows rows, double[::1] counts, double[::1] sums, Py_ssize_t i, Py_ssize_t j, double width, double level
) noexcept
@cython.locals(low=double[::1], high=double[::1])
cpdef object differences(Rows rows, double[::1] counts, double[::1] sums, Py_ssize_t control, double level)
@cython.locals(smallest=double)
cpdef double shortfall(
    Rows rows, double[::1] counts, double[::1] sums, Py_ssize_t i, int64_t[::1] order, double goal
) noexcept
cpdef bint refuted(
    Rows rows, double[::1] counts, double[::1] sums, Py_ssize_t i, Py_ssize_t j, double gap, double goal
) noexcept
