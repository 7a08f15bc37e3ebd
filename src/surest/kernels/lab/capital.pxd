# The types in C of what capital.py has: see CONTRIBUTING.md.
cimport cython
from surest.kernels cimport libm
from surest.kernels.lab cimport rules
from surest.kernels.lab.rules cimport Views

cdef double TRUNCATION
cdef Py_ssize_t ASKED, POINTS, TOTAL

cpdef void bet_on(Views state, double log_inverse) noexcept
@cython.locals(surely=Py_ssize_t, left=Py_ssize_t)
cpdef Py_ssize_t betting_racing(Views state) noexcept
@cython.locals(weakest=double, capital=double, challenger=Py_ssize_t, left=Py_ssize_t, least=double,
    together=double[::1])
cpdef Py_ssize_t peak(Views state) noexcept
