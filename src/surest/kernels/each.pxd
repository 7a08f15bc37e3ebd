# The types in C of what each.py has: see CONTRIBUTING.md.
from surest.kernels cimport libm

cpdef object exp(object x)
cpdef object log(object x)
cpdef object log1p(object x)
cpdef void fill_exp(double[::1] x) noexcept
cpdef void fill_log(double[::1] x) noexcept
cpdef void fill_log1p(double[::1] x) noexcept
