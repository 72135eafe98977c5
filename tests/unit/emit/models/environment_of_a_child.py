"""Run in place of the child that makes models: prints what surrounds it."""

import os
import sys

print("isolated" if sys.flags.isolated else "exposed")
print(sys.path)
print(sorted(name for name in os.environ if name not in {"LC_CTYPE", "SYSTEMROOT"}))
