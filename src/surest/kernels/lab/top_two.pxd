# The types in C of what top_two.py has: see CONTRIBUTING.md.
cimport cython
from surest.kernels cimport libm
from surest.kernels.lab cimport divergence, rules
from surest.kernels.lab.rules cimport Views

cdef Py_ssize_t ASKED, ATOMS, COIN, TOTAL

@cython.locals(least=double, smallest=double, challenger=Py_ssize_t)
cpdef Py_ssize_t top_two(Views state) noexcept
cpdef void absorb_atoms(Views state) noexcept
@cython.locals(values=Py_ssize_t, at=Py_ssize_t, size=Py_ssize_t)
cpdef void add(double[:, ::1] memory, Py_ssize_t arm, double reward) noexcept
cpdef double transport(Views state, Py_ssize_t high, Py_ssize_t low) noexcept
cpdef double leader_share(Views state, Py_ssize_t high, Py_ssize_t low) noexcept
@cython.locals(slack=double, side=Py_ssize_t)
cpdef (double, double) common_mean(Views state, Py_ssize_t high, Py_ssize_t low) noexcept
cpdef (double, double) direct(double[:, ::1] memory, Py_ssize_t arm, double u) noexcept
cpdef (double, double) mirrored(double[:, ::1] memory, Py_ssize_t arm, double u) noexcept
