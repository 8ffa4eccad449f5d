"""Runs a program and ends it when the parent process ends, for whatever reason. A script: `python guard.py PROGRAM ARGUMENT...`.

The parent holds the write end of this process's standard input and never writes to it. When it is closed, by the parent or by the
parent's end, the guard ends the program. That works on every POSIX system. On Linux the kernel also kills the program when the
guard is killed. Standard output receives the program's process id; the program's own output goes to standard error.

It imports the standard library alone, so that it starts quickly.
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
"""Seconds between SIGTERM and SIGKILL."""
PR_SET_PDEATHSIG = 1


def main(command: Sequence[str], tie: Callable[[], object] | None = None) -> int:
    """Run a program until it or the parent ends; return its exit code. `tie` is called in the new process before it starts."""
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr, preexec_fn=tie or tied_to(os.getpid())
    )
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    threading.Thread(target=end_with_parent, args=(program,), daemon=True).start()
    print(program.pid, flush=True)
    code = program.wait()
    return code if code >= 0 else 128 - code


def tied_to(parent: int) -> Callable[[], object] | None:
    """Return a function that makes the kernel kill the calling process with its parent; None where the kernel cannot."""
    if sys.platform != "linux":
        return None
    kernel = ctypes.CDLL(None)

    def tie() -> None:
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent has ended already
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
