# The types in C of what divergence.py has: see CONTRIBUTING.md.
cimport cython
from surest.kernels cimport libm

cdef double LAST, VARIANCE

cpdef double kl(double p, double q) noexcept
cpdef double kl_upper(double p, double level) noexcept
cpdef bint surely_above(double p, double level, double q) noexcept
cpdef double kl_lower(double p, double level) noexcept
@cython.locals(total=double, mean=double, square=double, low=double, slack=double, slope=double, curve=double)
cpdef (double, double) k_inf(double[:] values, double[:] weights, Py_ssize_t count, double u, bint mirrored=*) noexcept
@cython.locals(wealth=double)
cpdef double log_wealth(
    double[:] values, double[:] weights, Py_ssize_t count, double u, double bet, bint mirrored
) noexcept
cpdef double hoeffding(double count, double log_inverse) noexcept
cpdef double empirical_bernstein(double variance, double count, double log_inverse) noexcept
cpdef double iterated_log(double count, double failure, double epsilon) noexcept
cpdef double kl_iterated_log(double count, double log_inverse, double ratio, double power, double log_zeta) noexcept
cpdef double kl_rate(double total, double log_inverse, double alpha) noexcept
