"""Runs a program that ends with its parent, however that ends. Run as a script: `python guard.py PROGRAM ARGUMENT...`.

The parent holds the other end of a pipe, this process's standard input, and never writes to it: once it is closed, by the parent or
with it, the program is ended. That works on every POSIX system. On Linux the kernel also kills the program when this process is
killed. The number of the program's process goes to standard output, whatever the program writes to standard error.

Knows the standard library only, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

GRACE = 5.0
"""Seconds between the wish that the program ends and its end by force."""
PR_SET_PDEATHSIG = 1


def main(command: Sequence[str], tie: Callable[[], object] | None = None) -> int:
    """Run a program until it or the parent ends; return its exit code. `tie` is done in its process before it begins."""
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr, preexec_fn=tie or tied_to(os.getpid())
    )
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    threading.Thread(target=end_with_parent, args=(program,), daemon=True).start()
    print(program.pid, flush=True)
    code = program.wait()
    return code if code >= 0 else 128 - code


def tied_to(parent: int) -> Callable[[], object] | None:
    """Return what makes the kernel kill a process with its parent; None where there is no such thing."""
    if sys.platform != "linux":
        return None
    kernel = ctypes.CDLL(None)

    def tie() -> None:
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it has ended already
            os.kill(os.getpid(), signal.SIGKILL)

    return tie


def end_with_parent(program: subprocess.Popen[bytes]) -> None:
    """Wait until the parent closes its end of standard input; then end the program."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    program.terminate()
    try:
        program.wait(GRACE)
    except subprocess.TimeoutExpired:
        program.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
