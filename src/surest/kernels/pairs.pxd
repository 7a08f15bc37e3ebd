# The types in C of what pairs.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t
from surest.kernels cimport libm

cdef double LARGEST_STAKE, LEAST_LEVEL, LEAST_RATIO, POOLED, POOLED_COINS, POOLED_LONG, RHO, ROUNDED
cdef Py_ssize_t MANY_GAPS, RATIOS
cdef double[::1] GAPS, GAP_PRIOR

@cython.locals(first=Py_ssize_t, second=Py_ssize_t, other=Py_ssize_t, a=Py_ssize_t, j=Py_ssize_t, o=Py_ssize_t,
    own=double, its=double, gap=double, square=double, ratio=double, level=double, common=double, i=Py_ssize_t,
    rivals=double, ahead=double, spread=double, error=double, low=double, high=double, coins=bint, pooled=double,
    opponents=int64_t[::1],
    levels=double[::1], stakes=double[::1])
cpdef object place(
    const int64_t[:] arms, const int64_t[:] times, double[::1] counts, double[::1] sums, double[::1] squares,
    const uint8_t[:] is_open
)
cpdef double suited(
    double gap, double square, double its, double own, double ratio, double level, bint coins
) noexcept
@cython.locals(common=double, own=double, its=double, low=double, high=double, gap=double, square=double, ratio=double,
    best=double, found=double, above=double, below=double, stake=double, rate=double, coins=bint, pooled=double, bottom=double,
    top=double, level=double)
cpdef double leader_ratio(
    Py_ssize_t leader, Py_ssize_t closest, double others, double[::1] counts, double[::1] sums, double[::1] squares
) noexcept
cpdef double divergence(double p, double q) noexcept
@cython.locals(factor=double)
cpdef double grown(double stake, double ahead, double spread) noexcept
cpdef double inside(double level) noexcept
@cython.locals(scatter=double, freedom=double)
cpdef double common_variance(double[::1] counts, double[::1] sums, double[::1] squares) noexcept
cpdef double variance(double count, double total, double squares, double common, double weight) noexcept
@cython.locals(top=double, total=double, mean=double, square=double)
cpdef (double, double) likely_gap(double gap, double error, double unit) noexcept
@cython.locals(begin=Py_ssize_t, its_begin=Py_ssize_t, other=Py_ssize_t, many=Py_ssize_t, on_it=double, log=double,
    moved=double, more=double, more_moved=double)
cpdef void settle(
    double[::1] accounts, const int64_t[:] arms, const int64_t[:] times, const int64_t[:] opponents,
    const double[:] levels, const double[:] stakes, const double[:] rewards
) noexcept
@cython.locals(log=double, moved=double, won=double, step=double)
cpdef (double, double) paid(const double[:] rewards, Py_ssize_t begin, Py_ssize_t many, double stake, double level) noexcept
