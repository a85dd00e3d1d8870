"""The `rffnet` command that comes with the package: the same code as the one cargo builds."""

import signal
import sys

from rffnet import _rffnet


def main():
    """Run the command line and return its exit status."""
    # Python would note Ctrl-C and wait for Rust to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _rffnet.main(["rffnet", *sys.argv[1:]])
