# The types in C of what lists.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t
from surest.kernels cimport libm

cdef double CAP, EDGE, HUGE, LEAST_LEAD, LEAST_ROOM, LEAST_SHRINKAGE, MEMORY, MOST_SHRINKAGE, PRIOR, TINY, TOLERANCE_ON_LISTS
cdef Py_ssize_t BISECTIONS, CLAIMS, OPPONENTS, STEPS, SWEEPS
cdef double[::1] LEADS, LEAD_WEIGHTS, WEIGHTS

cdef class Bets:
    cdef int64_t[::1] opponents, where
    cdef double[::1] margins, stakes, gains, room
    cdef double[:, ::1] moments

cpdef double bounded(double wealth) noexcept
@cython.locals(count=Py_ssize_t)
cpdef Py_ssize_t leading(int64_t[::1] play, double[::1] sums, int64_t[::1] top) noexcept
@cython.locals(mean=double, spread=double, pooled=double)
cpdef double shrinkage(
    int64_t[::1] play, Py_ssize_t leader, double[::1] plain, int64_t[::1] seen, double[:, ::1] cross,
    double[::1] squares, Py_ssize_t t
) noexcept
@cython.locals(used=double, rest=double)
cpdef void portfolio(Bets bets, Py_ssize_t count) noexcept
@cython.locals(count=Py_ssize_t)
cpdef Py_ssize_t bets_against(
    Py_ssize_t j, int64_t[::1] top, double[::1] sums, double[::1] plain, double[:, ::1] cross,
    double[::1] squares, Py_ssize_t t, double left, double shrink, double least, Bets bets
) noexcept
@cython.locals(factor=double)
cpdef void settle(
    double[::1] values, int64_t[::1] play, int64_t[::1] top, double[::1] sums, double[::1] plain,
    double[:, ::1] cross, double[::1] squares, Py_ssize_t t, double left, double least, int64_t[::1] seen,
    double[:, ::1] wealth, Bets bets
) noexcept
cpdef void add(
    double[::1] values, double weight, int64_t[::1] play, int64_t[::1] slots, double[::1] sums,
    double[::1] plain, double[::1] squares, double[:, ::1] cross
) noexcept
cpdef void products(Py_ssize_t arm, int64_t[::1] play, double[:, ::1] scores, double[::1] row) noexcept
@cython.locals(best=double, mixed=double)
cpdef bint judge(
    int64_t[::1] play, double[:, ::1] wealth, double share, double[::1] sums, double slack,
    double[::1] threshold, double[::1] most, uint8_t[::1] certain
) noexcept
cpdef bint all_inside(const double[:] values) noexcept
cpdef void bet_on_bars(
    int64_t[::1] play, double[::1] values, Py_ssize_t t, double used, double total, bint population,
    double[::1] bars, double[::1] ends, double[::1] sums, double[::1] plain, double[::1] squares,
    double[:, :, ::1] wealth
) noexcept
@cython.locals(lead=double, used=double, mixed=double)
cpdef double pair_wealth(
    Py_ssize_t i, Py_ssize_t j, double gap, double[:, ::1] scores, Py_ssize_t units, double[::1] weights,
    double total, bint population, double[::1] wealth
) noexcept
cpdef bint all_within(
    double gap, int64_t[::1] contenders, int64_t[::1] rivals, double[::1] missing, int64_t[::1] seen,
    double[:, ::1] scores, double[::1] weights, double total, bint population, double[::1] wealth
) noexcept
cpdef double bet_on_pairs(
    Py_ssize_t a, double epsilon, int64_t[::1] play, double[:, ::1] scores, double[::1] weights, double total,
    bint population, int64_t[::1] born, Py_ssize_t start, double used, double[::1] sums, double[::1] plain,
    double[::1] squares, double[:, ::1] wealth
) noexcept
@cython.locals(total=double, squares=double)
cpdef void bets_of(double[::1] path, double level, double[::1] bets) noexcept
@cython.locals(logs=double, wealth=double, used=double, seen=double)
cpdef double log_wealth(
    double[::1] path, double[::1] weights, double total, double mean, double side, double[::1] bets
) noexcept
@cython.locals(least=double, most=double, sure=double, used=double)
cpdef (double, double) interval(
    double[::1] path, double[::1] weights, double total, double alpha, double[::1] bets
) noexcept
cpdef double refuted_end(
    double[::1] path, double[::1] weights, double total, double inside, double outside, double first, double side,
    double level, double[::1] bets
) noexcept
@cython.locals(total=double, up=double, down=double, guess=double, factor=double)
cpdef void predict(
    double[::1] path, Py_ssize_t counted, Py_ssize_t start, Py_ssize_t end, double[::1] most,
    double[::1] least, double[:, ::1] features, double[:, ::1] sums, double[:, ::1] room, double[:, ::1] told
) noexcept
@cython.locals(
    first=Py_ssize_t, both=Py_ssize_t, lead=double, room=double, slack=double, left=double, gap=double, mixed=double,
    rest=double, m=double
)
cpdef (Py_ssize_t, double) bet_above(
    double[::1] path, double[:, ::1] told, Py_ssize_t start, double total, double mean, double threshold,
    double share, double[::1] state
) noexcept
@cython.locals(gain=double)
cdef void bet(
    double[::1] wealth, Py_ssize_t at, double surprise, double room, double second, double gap
) noexcept
@cython.locals(last=Py_ssize_t, first=Py_ssize_t)
cpdef void boundary(
    int64_t[:, ::1] sets, int64_t[::1] alive, int64_t[::1] rank, int64_t[::1] weakest, int64_t[::1] strongest,
    int64_t[::1] inside
) noexcept
cpdef void pay(
    int64_t[::1] alive, int64_t[::1] strongest, int64_t[::1] weakest, double[:, :, ::1] factors,
    double[:, ::1] wealth
) noexcept
cpdef bint all_doubted(
    int64_t[:, ::1] sets, int64_t[::1] alive, double[::1] wealth, int64_t[::1] named, double[:, ::1] needed,
    int64_t[:, ::1] inside
) noexcept
