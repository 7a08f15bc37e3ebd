# The types in C of what sampling.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t
from surest.kernels cimport libm
from surest.kernels.bets cimport Rows

cdef double FAR, GOLDEN, HALF, LAST_MOVE, NARROW, NARROW_GROWTH, NARROWEST, OPTIMISM, REJECTED
cdef Py_ssize_t KNOWN, SEARCH_STEPS

cdef class Seen:
    cdef double[::1] counts, means, spreads, empirical
    cdef Rows before, since

cpdef double divergence(double mean, double spread, double x) noexcept
@cython.locals(at_left=double, at_right=double)
cpdef double least_level(
    double count, double mean, double spread, double other_count, double other_mean, double other_spread,
    double epsilon
) noexcept
cpdef (double, double) separation(
    double count, double mean, double spread, double other_count, double other_mean, double other_spread,
    double epsilon
) noexcept
@cython.locals(result=double[::1])
cpdef object separations(Py_ssize_t arm, double[::1] counts, double[::1] means, double[::1] spreads, double epsilon)
@cython.locals(high=double)
cpdef void update_optimistic(
    double[::1] optimistic, int64_t[::1] arms, double[::1] counts, double[::1] means, double[::1] spreads
) noexcept
cpdef (double, double, double) added(
    Rows rows, Py_ssize_t arm, double scale, double x, double bet, bint is_above, double slope, double curve,
    double spread
) noexcept
@cython.locals(low=double, bend=double)
cpdef (double, double) best_bet(
    Py_ssize_t arm, Rows before, Rows since, double scale, double x, bint is_above, double start
) noexcept
cpdef double gained(Rows rows, Py_ssize_t arm, double scale, double x, double bet, bint is_above, double total) noexcept
cpdef double gain(Py_ssize_t arm, Rows before, Rows since, double scale, double x, double bet, bint is_above) noexcept
@cython.locals(bet=double, other=double)
cpdef (double, double, double, double) transport(
    Py_ssize_t leader, Py_ssize_t j, Seen seen, double leader_scale, double scale, double epsilon
) noexcept
cpdef bint is_narrow(Py_ssize_t a, Py_ssize_t j, Seen seen) noexcept
@cython.locals(narrow=uint8_t[::1])
cpdef object narrow_pairs(Py_ssize_t a, Seen seen)
cpdef (double, double) key_of(
    Py_ssize_t j, Py_ssize_t leader, double[::1] moved, Seen seen, bint is_rejected, double epsilon
) noexcept
cpdef (double, double) narrow_key(
    Py_ssize_t j, Py_ssize_t leader, double[::1] moved, Seen seen, bint is_rejected, double epsilon
) noexcept
cpdef void best_bets(Py_ssize_t a, Seen seen, double epsilon, double[::1] own, double[::1] others) noexcept
@cython.locals(least=double, size=Py_ssize_t, narrow=uint8_t[::1], times=int64_t[::1], keys=double[::1],
    arms=int64_t[::1])
cpdef object plan(
    Py_ssize_t leader, Seen seen, double[::1] moved, uint8_t[::1] rejected, double epsilon, double[::1] coins,
    Py_ssize_t spared, double[::1] costs
)
cpdef void sift(double[::1] keys, int64_t[::1] arms, Py_ssize_t size, Py_ssize_t place) noexcept
@cython.locals(result=double[:, ::1])
cpdef object pair_separations(
    int64_t[::1] inside, double[::1] counts, double[::1] means, double[::1] spreads, double epsilon
)
@cython.locals(at=Py_ssize_t, times=int64_t[::1], keys=double[:, ::1], parts=double[:, ::1], first=int64_t[::1])
cpdef object plan_pairs(
    int64_t[::1] inside, int64_t[::1] outside, double[::1] moved, double[::1] means, double[::1] spreads,
    uint8_t[:, ::1] rejected, double epsilon, double[::1] coins
)
cpdef (double, double) pair_key(
    Py_ssize_t i, Py_ssize_t j, double[::1] moved, double[::1] means, double[::1] spreads, bint is_rejected,
    double epsilon
) noexcept
@cython.locals(place=Py_ssize_t)
cpdef Py_ssize_t smallest(double[:, ::1] keys, Py_ssize_t row) noexcept
