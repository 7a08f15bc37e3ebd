"""The one place that knows the compiler: `compiled` makes a kernel of a plain function on arrays.

A kernel runs as plain Python while there is little to do, and as machine code after that: to load the compiler takes
longer than a small search. Both give the same bits, so a search recorded by one is replayed by the other. Where there
is no compiler, all runs as plain Python; where machine code cannot be kept on disk, each process compiles anew.
"""

import builtins
import importlib
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, update_wrapper
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np

from surest.machine_code import fingerprint, globals_of, is_first, is_kept

F = TypeVar("F", bound=Callable[..., object])

PLAIN_STEPS = 300_000
"""Steps that run as plain Python before machine code is loaded: they take about as long as loading it, half a second.
A step is a call of a kernel, by another one too, or of a function of `math`."""
COLD_STEPS = 6_000_000
"""Further ones in the first process that finds no machine code to load: to compile it takes ten seconds or more. The next
process compiles: whoever comes twice comes again."""
LARGE = 2**16
"""A call on so many numbers asks for machine code at once."""


def compiled(function: F) -> F:
    """Make a kernel of a function on numbers, arrays and tuples of these. Kernels may call kernels.

    Nothing is compiled and no compiler is imported before there is much to do.

    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    return cast(F, Kernel(function))


def compiled_as(function: F, signature: Any) -> F:
    """Compile a function for one signature only, so that kernels can be passed to it as values. Needs a `compiler()`."""
    dispatcher = Kernel(function).dispatcher()
    with _timed():
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return cast(F, dispatcher)


def prefer_machine_code() -> None:
    """Load machine code at the next call of a kernel, however little there is to do."""
    _state.plain_steps_left = 0


def compile_in_background() -> None:
    """Let other threads load and compile from now on: what must answer in time goes on as plain Python meanwhile."""
    _state.in_background = True


def on_compile(callback: Callable[[], None]) -> None:
    """Have a function called before the first kernel is really compiled: not when kept machine code is loaded.

    It is called once in a process, and never where nothing needs compiling. `keeps_machine_code` tells whether the next
    process will find what is compiled now.

    >>> on_compile(lambda: None)  # or print("compiling, once: about 10 s")
    """
    _state.callbacks.append(callback)


def keeps_machine_code() -> bool:
    """Whether compiled kernels are kept on disk for the next process, as far as is known yet.

    Numba keeps them beside the source or in the user's cache folder; where neither can be written, in the folder that
    the environment variable NUMBA_CACHE_DIR names.

    >>> keeps_machine_code()
    True
    """
    return _state.keeps


def seconds_spent() -> float:
    """Seconds that this process has spent on importing the compiler, and on loading and compiling kernels.

    >>> before = seconds_spent()
    >>> seconds_spent() - before
    0.0
    """
    return _state.seconds


def compiler() -> Any:
    """Numba, imported when it is first asked for; None where it is missing or NUMBA_DISABLE_JIT switches it off."""
    numba = _numba()
    _state.plain_steps_left = math.inf if numba is None else 0
    return numba


@lru_cache(maxsize=1)
def _numba() -> Any:
    with _timed():
        try:
            numba: Any = importlib.import_module("numba")
        except ImportError as error:
            message = f"numba cannot be imported ({error}): surest runs as plain Python, which is slow in long searches"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return None
        if numba.config.DISABLE_JIT:
            return None
        _listen()
        return numba


class Kernel:
    """A function, its plain version and its machine code, of which one is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = cast(FunctionType, function)
        self._plain: Callable[..., Any] | None = None
        self._dispatcher: Any = None
        self._machine_code: Any = None  # the dispatcher, once it has been compiled
        self._is_awaited = False

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        if self._machine_code is not None:
            return self._machine_code(*args)
        if _numbers_in(args) < LARGE and (_state.plain_steps_left > 0 or self._compiles_meanwhile(args)):
            try:
                return run_plainly(self, args)
            except _Enough:
                if _goes_on(self):
                    return self(*args)
            except (ArithmeticError, ValueError):  # what is an error in Python may be an infinity in machine code
                if compiler() is None:
                    raise
        return self._run_machine_code(args)

    def __reduce__(self) -> str:
        return self._function.__qualname__  # a global name, as for functions

    def __repr__(self) -> str:
        return f"<kernel {self._function.__module__}.{self._function.__qualname__}>"

    def _run_machine_code(self, args: tuple[Any, ...]) -> Any:
        if compiler() is None:
            return run_plainly(self, args)
        self._compile(args)  # first, so that the time it takes can be told from that of the call
        return self._machine_code(*args)

    def _compile(self, args: tuple[Any, ...]) -> None:
        if compiler() is not None:
            dispatcher = self.dispatcher()
            with _timed():
                dispatcher.compile(tuple(dispatcher.typeof_pyval(arg) for arg in args))
            self._machine_code = dispatcher

    def _compiles_meanwhile(self, args: tuple[Any, ...]) -> bool:
        """Whether another thread does; from the first call on, where that is wanted."""
        if _state.in_background and not self._is_awaited:
            self._is_awaited = True
            threading.Thread(target=self._compile, args=(args,), daemon=True).start()
        return _state.in_background

    def dispatcher(self) -> Any:
        """The function as numba knows it, calling other kernels as numba knows them. Needs a `compiler()`."""
        with _state.lock, _timed():
            if self._dispatcher is None:
                function = _rebuilt(
                    self._function, lambda value: value.dispatcher() if isinstance(value, Kernel) else value
                )
                # Kept machine code holds that of the kernels it calls, and constants of other modules, but numba looks
                # for changes in the function's own file only. It keeps machine code under the name of the function.
                function.__qualname__ += f"_{fingerprint(self._function)[:16]}"
                self._dispatcher = _jit(function)
                _state.dispatchers.add(self._dispatcher)
            return self._dispatcher

    @property
    def plain(self) -> Callable[..., Any]:
        """The function in plain Python, which treats numbers as machine code does, and counts steps."""
        if self._plain is None:
            used = globals_of(self._function).values()
            is_leaf = not any(isinstance(value, Kernel) or _plain_of(value) is not value for value in used)
            self._plain = _counted(_rebuilt(self._function, _plain_of), is_leaf)
        return self._plain


def _goes_on(kernel: Kernel) -> bool:
    """Whether more may run as plain Python: once, where the kernel would have to be compiled."""
    if _state.went_on or is_kept(kernel._function) or not is_first():
        return False
    _state.went_on, _state.plain_steps_left = True, COLD_STEPS
    return True


class _State:
    """What this process has done so far."""

    def __init__(self) -> None:
        self.plain_steps_left: float = PLAIN_STEPS
        self.went_on = False
        self.in_background = False
        self.seconds = 0.0
        self.keeps = True
        self.callbacks: list[Callable[[], None]] = []
        self.dispatchers: set[Any] = set()
        self.lock = threading.RLock()
        self.thread = threading.local()


_state = _State()


class _Enough(Exception):
    """As much as may run as plain Python has run."""


def _jit(function: FunctionType) -> Any:
    njit = _numba().njit
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # no folder that can be written, or typed in by hand
        _state.keeps &= not Path(function.__code__.co_filename).exists()
        return njit(nogil=True, error_model="numpy")(function)


def _rebuilt(function: FunctionType, replaced: Callable[[Any], Any]) -> FunctionType:
    """The same function with other values for the global names that it uses."""
    names = {name: replaced(value) for name, value in globals_of(function).items()}
    names |= {"__name__": function.__module__, "__builtins__": builtins}
    twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    twin.__qualname__, twin.__doc__ = function.__qualname__, function.__doc__
    return twin


def run_plainly(kernel: Kernel, args: tuple[Any, ...]) -> Any:
    """Call the plain version; arrays are changed when it has run to its end, or not at all."""
    copies: dict[int, tuple[Any, Any]] = {}
    given = [_copied(arg, copies) for arg in args]
    with np.errstate(all="ignore"):
        result = kernel.plain(*given)
    for original, copy in copies.values():
        if original.flags.writeable:
            original[...] = copy
    return _as_python(result)


def _copied(value: Any, copies: dict[int, tuple[Any, Any]]) -> Any:
    """The same value with copies of arrays, and floats of the kind that may be divided by 0."""
    if isinstance(value, np.ndarray):
        return copies.setdefault(id(value), (value, value.copy()))[1]
    if isinstance(value, tuple):
        parts = [_copied(part, copies) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return np.float64(value) if isinstance(value, float) else value


def _as_python(value: Any) -> Any:
    """What machine code returns: Python's numbers, not NumPy's."""
    if isinstance(value, tuple):
        parts = [_as_python(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.item() if isinstance(value, np.generic) else value


def _numbers_in(args: tuple[Any, ...]) -> int:
    """How many numbers there are in the arrays among the arguments."""
    total = 0
    for arg in args:
        if isinstance(arg, np.ndarray):
            total += arg.size
        elif isinstance(arg, tuple):
            total += _numbers_in(arg)
    return total


def _step(weight: int = 1) -> None:
    _state.plain_steps_left -= weight
    if _state.plain_steps_left < 0 and not _state.in_background:
        raise _Enough


def _counted(function: Callable[..., Any], is_leaf: bool) -> Callable[..., Any]:
    """The same function, counting its calls; a leaf, in which nothing else is counted, by the length of its arrays."""

    def run(*args: Any) -> Any:
        _step(1 + max((len(arg) for arg in args if isinstance(arg, np.ndarray)), default=0) // 4 if is_leaf else 1)
        return function(*args)

    return run


def _plain_of(value: Any) -> Any:
    """What a global name stands for in plain Python."""
    if isinstance(value, Kernel):
        return value.plain
    if value is math:
        return _MATH
    return _NUMERIC.get(value, value) if callable(value) else value


# Functions of `math` that answer where Python's raise, as machine code does, with floats that may be divided by 0.


def _logarithm(function: Callable[[float], float], end: float) -> Callable[[float], Any]:
    def answer(x: float) -> Any:
        _step()
        return np.float64(function(x)) if x > end else np.float64(-math.inf if x == end else math.nan)

    return answer


def _exponential(function: Callable[[float], float]) -> Callable[[float], Any]:
    def answer(x: float) -> Any:
        _step()
        try:
            return np.float64(function(x))
        except OverflowError:
            return np.float64(math.inf)

    return answer


def _sqrt(x: float) -> Any:
    return np.float64(math.sqrt(x) if x >= 0 else math.nan)


_NUMERIC: dict[Any, Any] = {
    math.log: _logarithm(math.log, 0.0),
    math.log2: _logarithm(math.log2, 0.0),
    math.log10: _logarithm(math.log10, 0.0),
    math.log1p: _logarithm(math.log1p, -1.0),
    math.exp: _exponential(math.exp),
    math.expm1: _exponential(math.expm1),
    math.sqrt: _sqrt,
    float: np.float64,
}
_MATH = SimpleNamespace(**{**vars(math), **{function.__name__: twin for function, twin in _NUMERIC.items()}})


@contextmanager
def _timed() -> Iterator[None]:
    """Count the time as spent on compiling, once where this is nested."""
    thread = _state.thread
    if getattr(thread, "is_timed", False):
        yield
        return
    thread.is_timed, start = True, time.perf_counter()
    try:
        yield
    finally:
        thread.is_timed = False
        _state.seconds += time.perf_counter() - start


def _listen() -> None:
    """Hear of it when numba really compiles one of our kernels, by numba's events."""
    event: Any = importlib.import_module("numba.core.event")

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"] in _state.dispatchers:
                while _state.callbacks:
                    _state.callbacks.pop(0)()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())
