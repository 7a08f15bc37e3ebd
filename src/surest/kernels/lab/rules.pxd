# The types in C of what rules.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from surest.kernels.lab cimport divergence

cdef Py_ssize_t ASKED, CHOSEN, LEADER, TOTAL
cdef uint64_t NOISE, WORD

cdef class Views:
    cdef int64_t[::1] counts, pick, marks
    cdef double[::1] sums, squares, fresh, settings
    cdef uint8_t[::1] active
    cdef double[:, ::1] memory
    cdef uint64_t[::1] noise

cpdef void absorb(Views state) noexcept
@cython.locals(asked=Py_ssize_t)
cpdef Py_ssize_t everyone(Views state) noexcept
@cython.locals(x=uint64_t, mixed=uint64_t, below=Py_ssize_t)
cpdef Py_ssize_t random_below(Views state, Py_ssize_t bound) noexcept
@cython.locals(top=double, best=Py_ssize_t, ties=Py_ssize_t)
cpdef Py_ssize_t empirical_best(Views state) noexcept
cpdef void empirical_top(Views state, Py_ssize_t m) noexcept
@cython.locals(first=Py_ssize_t, ties=Py_ssize_t)
cpdef Py_ssize_t first_of(Views state, Py_ssize_t row, Py_ssize_t n, Py_ssize_t other_than) noexcept
cpdef double rate_of(Views state) noexcept
