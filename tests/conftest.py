"""What holds for all tests."""

import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
