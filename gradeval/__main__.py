"""Where the program starts, as `gradeval` and as `python -m gradeval`."""

import _signal  # type: ignore[import-not-found]
import gc
import os

# Ctrl-C ends the command as the system does, at once and without a traceback: an exception could be raised in
# any import, thread or destructor. Whoever has something to tidy up catches the signal meanwhile. Until here
# Python raises KeyboardInterrupt, so little is imported above: the module signal takes 2 ms, _signal none.
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> None:
    """Run the command line and exit with its code."""
    gc.disable()  # until all is imported: the search for garbage would take 6 ms of the 90 of a small command
    # numpy's matrix library starts a thread for each processor, which spins; no matrix is multiplied here
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gradeval import cli

    cli.main()


if __name__ == "__main__":
    main()
