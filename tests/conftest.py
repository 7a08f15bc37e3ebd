"""What holds for all tests."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
