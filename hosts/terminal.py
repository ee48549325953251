"""Runs a program at a pseudo-terminal, as a person does, and types an answer there.

    terminal.py ARGUMENT…    runs the `tollgate` of the scene, which is beside its home, and types `yes`
"""

import os
import pty
import subprocess
import sys


def types(argv, typed, **more):
    """Returns the exit code, and everything that was shown."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, **more)
    finally:
        os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # On Linux, this is the end.
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(60), shown.decode(errors="replace")


if __name__ == "__main__":
    # The `PATH` of a login shell does not have it.
    program = os.path.join(os.path.dirname(os.environ["HOME"]), "bin", "tollgate")
    code, told = types([program, *sys.argv[1:]], "yes\n")
    print(told)
    sys.exit(code)
