"""`python -m rffnet` is the command `rffnet`."""

import sys

from rffnet._command import main

sys.exit(main())
