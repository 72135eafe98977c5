"""to do"""

from mcpgen.cli.report import Printer


def mock(printer: Printer) -> int:
    """To do."""
    return 0
