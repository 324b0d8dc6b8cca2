"""Where the program starts, as `gradeval` and as `python -m gradeval`."""

import gc
import os
import signal


def main() -> None:
    """Run the command line and exit with its code."""
    gc.disable()  # too short a life for the search for garbage to pay, even while all is imported
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the imports without a traceback
    # numpy's matrix library starts a thread for each processor, which spins; no matrix is multiplied here
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gradeval import cli

    cli.main()


if __name__ == "__main__":
    main()
