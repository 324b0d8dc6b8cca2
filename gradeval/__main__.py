"""Where the program starts, as `gradeval` and as `python -m gradeval`."""

import gc
import os
import signal

# Ctrl-C ends the command as the system does, at once and without a traceback: an exception could be raised in
# any import, thread or destructor. Whoever has something to tidy up catches the signal meanwhile.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Run the command line and exit with its code."""
    gc.disable()  # too short a life for the search for garbage to pay, even while all is imported
    # numpy's matrix library starts a thread for each processor, which spins; no matrix is multiplied here
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gradeval import cli

    cli.main()


if __name__ == "__main__":
    main()
