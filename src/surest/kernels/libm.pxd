# What libm.py has, as C knows it. Scalar functions only: vector versions of log and exp have other bits.
cdef extern from "math.h" nogil:
    double log(double)
    double log1p(double)
    double log2(double)
    double exp(double)
    double sqrt(double)
    double inf "((double)INFINITY)"
