# The types in C of what rivals.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t
from surest.kernels cimport libm
from surest.kernels.lab cimport capital, divergence, rules, top_two, tracking
from surest.kernels.lab.rules cimport Views

cdef double EPOCH_POWER, EPOCH_RATIO, VARIANCE
cdef Py_ssize_t ASKED, BETTING_RACING, CHOSEN, EB_TC_EPSILON, KL_LUCB, KL_RACING, LEADER, LIL_KL_UCB, LIL_UCB, LUCB
cdef Py_ssize_t PEAK, PEEKING_Z_TEST, REFILL, SPENT, STOPPED, SUCCESSIVE_ELIMINATION, TOP_TWO, TOTAL, TRACK_AND_STOP
cdef Py_ssize_t UCB_E

cpdef Py_ssize_t decide(Py_ssize_t rule, Views state) noexcept
cpdef Py_ssize_t advance(
    Py_ssize_t rule, Views state, double[:, ::1] rewards, int64_t[::1] used, int64_t[::1] drawn,
    int64_t[::1] progress, int64_t[::1] log
) noexcept
@cython.locals(lower=double, top=double, weakest=Py_ssize_t, challenger=Py_ssize_t)
cpdef Py_ssize_t lucb(Views state) noexcept
cpdef Py_ssize_t kl_lucb(Views state) noexcept
@cython.locals(least=double, weakest=Py_ssize_t, ties=Py_ssize_t)
cpdef Py_ssize_t least_sure(Views state, double rate) noexcept
@cython.locals(top=double, best=Py_ssize_t, ties=Py_ssize_t)
cpdef Py_ssize_t most_optimistic(Views state, double rate) noexcept
cpdef Py_ssize_t lil_kl_ucb(Views state) noexcept
cpdef Py_ssize_t lil_ucb(Views state) noexcept
@cython.locals(leader=Py_ssize_t)
cpdef bint lil_settled(Views state, double stop) noexcept
@cython.locals(worst=Py_ssize_t)
cpdef Py_ssize_t kl_racing(Views state) noexcept
cpdef bint beaten(Views state, Py_ssize_t best, Py_ssize_t worst) noexcept
@cython.locals(left=Py_ssize_t)
cpdef Py_ssize_t successive_elimination(Views state) noexcept
cpdef Py_ssize_t eb_tc_epsilon(Views state) noexcept
@cython.locals(top=double, choice=Py_ssize_t)
cpdef Py_ssize_t ucb_e(Views state) noexcept
@cython.locals(largest=double, means=double[::1], rising=double[::1])
cpdef double estimated_h2(Views state, Py_ssize_t phase) noexcept
cpdef Py_ssize_t ugape(Views state) noexcept
cpdef void set_radii(Views state) noexcept
@cython.locals(top=double, next_top=double, gap=double, first=Py_ssize_t, second=Py_ssize_t, guess=Py_ssize_t)
cpdef (Py_ssize_t, double, Py_ssize_t) smallest_gap(Views state) noexcept
@cython.locals(top=double, next_top=double, total=double)
cpdef double estimated_h1(Views state) noexcept
cpdef Py_ssize_t peeking_z_test(Views state) noexcept
cpdef double variance_of(Views state, Py_ssize_t arm) noexcept
