"""Replacement for the child process that makes models: prints its environment."""

import os
import sys

print("isolated" if sys.flags.isolated else "exposed")
print(sys.path)
print(sorted(name for name in os.environ if name not in {"LC_CTYPE", "SYSTEMROOT"}))
