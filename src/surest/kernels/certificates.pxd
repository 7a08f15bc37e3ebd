# The types in C of what certificates.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport bets, libm
from surest.kernels.bets cimport Rows

cdef double ALPHA, DECAY, DOUBTFUL, IDLE, LOWEST, MOST_REWARDS, NEGLIGIBLE, RHO, TOLERANCE, UNIT, WAIT
cdef Py_ssize_t JOINT_BETS, UP, UP_SLOPE, UP_ROUNDED, DOWN, DOWN_SLOPE, DOWN_ROUNDED
cdef double[:, ::1] JOINT

cdef class Evidence:
    cdef Py_ssize_t nominee
    cdef double[::1] prices, base, guesses_nominee, guesses, accounts
    cdef int64_t[::1] bets
    cdef Rows before, since
    cdef double share, among
    cdef double[:, ::1] work

cdef class Point:
    cdef double x, value, slope, doubt, bend
    cdef void put(self, double x, double value, double slope, double doubt, double bend) noexcept

@cython.locals(early=double, early_slope=double, early_doubt=double, full=double, full_slope=double, full_doubt=double)
cpdef (double, double, double, double) log_value(double x, double epsilon, Evidence evidence, Py_ssize_t j) noexcept
@cython.locals(up_top=double, down_top=double, up_doubt=double, down_doubt=double, total=double, rise=double,
    fall=double, row=double, row_slope=double)
cpdef (double, double, double, double) log_joint(double x, double y, Evidence evidence, Py_ssize_t j) noexcept
cpdef double larger_doubt(double doubt, double rounded, double behind) noexcept
cpdef (double, double, double) accumulate(
    double top, double total, double slope, double log, double derivative
) noexcept
@cython.locals(bound=double, exact=double, least=double)
cpdef (double, double) certificate(double start, double goal, double epsilon, Evidence evidence, Py_ssize_t j) noexcept
cpdef (double, double, double) meeting(Point left, Point right, double end) noexcept
@cython.locals(total=double)
cpdef bint countable(Rows rows, Py_ssize_t i) noexcept
@cython.locals(price=double, account=double, lacking=double)
cpdef (double, double) against(
    Py_ssize_t j, double start, double goal, double epsilon, Evidence evidence, bint is_quick
) noexcept
cpdef double log_sum(double x, double y) noexcept
@cython.locals(most=double, reached=double)
cpdef double most_reached(
    int64_t[::1] arms, double[::1] starts, double level, double epsilon, Evidence evidence
) noexcept
cpdef void raise_certificates(
    double[::1] certified, double[::1] minimisers, int64_t[::1] todo, double goal, double epsilon,
    Evidence evidence
) noexcept
@cython.locals(bounds=double[::1], minimisers=double[::1])
cpdef object bounds_against(int64_t[::1] arms, double[::1] starts, double goal, double epsilon, Evidence evidence)
@cython.locals(least=double)
cpdef void raise_weakest(
    double[::1] certified, double[::1] minimisers, int64_t[::1] todo, double goal, double epsilon,
    Evidence evidence
) noexcept
cpdef double smallest_epsilon(
    double least, int64_t[::1] doubtful, double goal, double[::1] minimisers, Evidence evidence
) noexcept
