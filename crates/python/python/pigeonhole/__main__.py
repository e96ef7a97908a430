"""The programs of the package: ``python -m pigeonhole indexer …``."""

import sys

from ._programs import main

if __name__ == "__main__":
    sys.exit(main())
