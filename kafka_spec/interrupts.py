"""Whether an error is Ctrl-C. It imports nothing: an interrupt may have ended an import."""


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is Ctrl-C, or was caused by it.

    Python 3.11 makes a RuntimeError of an interrupt that falls into a `__set_name__`, which imports of classes call.
    """
    return isinstance(error, KeyboardInterrupt) or (error.__cause__ is not None and is_interrupt(error.__cause__))
