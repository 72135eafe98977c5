"""to do"""

from mcpgen.cli.report import Printer


def tools(printer: Printer) -> int:
    """To do."""
    return 0
