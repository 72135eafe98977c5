"""The command `mcpgen`: the generator's command line, or one line on how to install it."""


def main() -> int:
    """Run the command line of the `cli` extra and return its exit code.

    A base install is the runtime of generated servers; there the command prints how to get the
    rest.
    """
    import importlib.util
    import sys

    if importlib.util.find_spec("typer") is None:
        sys.stderr.write(
            "mcpgen: this is the runtime alone; pip install 'mcpgen[cli]' adds the generator\n"
        )
        return 2

    from mcpgen.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
