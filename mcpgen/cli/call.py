"""to do"""

from mcpgen.cli.report import Printer


def call(printer: Printer) -> int:
    """To do."""
    return 0
