# The types in C of what crowds.py has: see CONTRIBUTING.md.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from surest.kernels cimport libm, sampling
from surest.kernels.bets cimport Rows
from surest.kernels.sampling cimport Seen

cdef uint64_t MIX, WORD
cdef double REJECTED

cpdef void put_atoms(double[:, ::1] columns, Rows rows, int64_t[::1] arms) noexcept

cdef class Rule:
    cdef Py_ssize_t leader
    cdef Seen seen
    cdef double[::1] moved
    cdef uint8_t[::1] rejected, narrow
    cdef double epsilon

cdef class Groups:
    cdef int64_t[::1] arm, head, tail, following, onward, heap
    cdef double[::1] moved, keys, parts, stamps
    cdef Py_ssize_t used, size

@cython.locals(size=Py_ssize_t, found=Py_ssize_t, same=Py_ssize_t, mixed=uint64_t, word=uint64_t, kinds=int64_t[::1],
    firsts=int64_t[::1], hashes=int64_t[::1], table=int64_t[::1])
cpdef object numbered(uint64_t[:, ::1] words)
@cython.locals(times=int64_t[::1], groups=Groups)
cpdef object plan(int64_t[::1] kinds, int64_t[::1] firsts, Rule rule, double[::1] coins, Py_ssize_t spared)
@cython.locals(least=double, starved=Py_ssize_t)
cpdef Py_ssize_t begin(int64_t[::1] kinds, int64_t[::1] firsts, Rule rule, Groups groups) noexcept
cpdef (double, double) key_of(Py_ssize_t arm, Rule rule) noexcept
cpdef void pull(Rule rule, Groups groups, double[::1] coins, Py_ssize_t at, int64_t[::1] times) noexcept
cpdef Py_ssize_t opened(Py_ssize_t arm, double moved, Groups groups) noexcept
cpdef void append(Py_ssize_t j, Py_ssize_t g, Groups groups) noexcept
@cython.locals(first=Py_ssize_t, last=Py_ssize_t, j=Py_ssize_t)
cpdef Py_ssize_t pull_in_turn(
    Py_ssize_t g, Py_ssize_t later, double part, double[::1] coins, Py_ssize_t at, Py_ssize_t end,
    int64_t[::1] times, Groups groups
) noexcept
cpdef void push(double key, Py_ssize_t g, Groups groups) noexcept
