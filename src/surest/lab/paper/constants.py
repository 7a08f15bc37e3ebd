"""Every constant that the paper prints, in one place, with the printed value as its default."""

from dataclasses import dataclass
from math import e, exp, sqrt


@dataclass(frozen=True)
class Constants:
    """The paper's constants. A researcher may study leaner ones; the guarantees are proved for these."""

    var_test_c: float = 80  # Algorithm 1: VarTest(i, τ_r, δ/e, 80)
    var_test_delta: float = e  # Algorithm 1: … at confidence δ/e
    mean_est_var_delta: float = 2  # Algorithm 3, line 2: VarEst(i, δ/2, ε)
    mean_est_square: float = 8  # Algorithm 3, line 3: 8σ̂²/ε²
    mean_est_linear: float = 2 / 3  # Algorithm 3, line 3: 2/(3ε)
    mean_est_log: float = 4  # Algorithm 3, line 3: ln(4/δ)
    naive_epsilon: float = 2  # NaiveBestArm: MeanEst(i, ε_r/2, …)
    naive_delta: float = 2  # NaiveBestArm: δ_r = δ/(2r²)
    group_var_delta: float = 2  # Algorithm 6: VarEst(i, δ/(2N²), ε)
    group_epsilon: float = 2  # Algorithm 6: MeanEst(i, ε/2, …)
    group_delta: float = 9  # Algorithm 6: … δ/(9N)
    iter_stop: int = 10  # Algorithm 5: while |T_r| > 10
    iter_beta: float = sqrt(255) / 16 * exp(0.001)  # Algorithm 5: ε_r = β^r (1 − β) ε
    iter_decay: float = exp(-0.1)  # Algorithm 5: δ_r = e^(−.1r) (1 − e^(−.1)) δ
    best_parts: float = 3  # Algorithm 4: ε/3 and δ/3 for each of its three steps
    main_epsilon: float = 4  # Algorithm 7: ε_r = 1/2^(r+2)
    main_delta: float = 2  # Algorithm 7: δ_r = δ/(2r²)
    main_parts_epsilon: float = 2  # Algorithm 7: accuracy ε_r/2 …
    main_parts_delta: float = 18  # … and confidence δ_r/18 for each of its three steps
    main_stop: float = 2  # Algorithm 7, line 8: > 2ε_r


PRINTED = Constants()
