"""Run the command line as ``python -m pursuit``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
