# The types in C of what tracking.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport libm
from surest.kernels.lab cimport rules
from surest.kernels.lab.rules cimport Views

cdef double SAME, TRACK_CLOSE, TRACK_NEAR
cdef Py_ssize_t ASKED, LEADER, TOTAL, TRACK_ENTROPY, TRACK_GLOBAL, TRACK_MEAN, TRACK_MISS, TRACK_RATE, TRACK_RATIO

@cython.locals(best=Py_ssize_t, ties=Py_ssize_t, fewest=Py_ssize_t, choice=Py_ssize_t, hint=Py_ssize_t)
cpdef Py_ssize_t track_and_stop(Views state) noexcept
cpdef Py_ssize_t unbeaten(
    double[::1] sums, int64_t[::1] counts, double[:, ::1] memory, Py_ssize_t best, double threshold,
    Py_ssize_t hint
) noexcept
cpdef void note(double[:, ::1] memory, Py_ssize_t arm, double p) noexcept
@cython.locals(total=double)
cpdef void track(double[:, ::1] memory, Py_ssize_t n, Py_ssize_t best) noexcept
cpdef (double, double, double) parts(double p, double p_entropy, double q, double q_entropy, double x) noexcept
cpdef bint newton(double[:, ::1] memory, Py_ssize_t n, Py_ssize_t best, Py_ssize_t steps) noexcept
@cython.locals(off=double, total=double, pull=double, slope=double)
cpdef (double, double, double, double) linearised(double[:, ::1] memory, Py_ssize_t n, Py_ssize_t best) noexcept
@cython.locals(low=double, high=double)
cpdef void search(double[:, ::1] memory, Py_ssize_t n, Py_ssize_t best) noexcept
@cython.locals(x=double)
cpdef double ratio_of(double p, double p_entropy, double q, double q_entropy, double y) noexcept
