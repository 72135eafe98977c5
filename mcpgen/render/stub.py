"""The first text of an override, as `mcpgen override` and `mcpgen eject` write it."""

from __future__ import annotations

import ast

from mcpgen.ir.hand_written import HandlerSource
from mcpgen.render.environment import literal

_RUNTIME = {"override": "mcpgen.runtime", "Context": "mcpgen.runtime"}


def override_stub(
    handler: HandlerSource,
    operation: str,
    call_type: str,
    package: str,
    *,
    function: str,
    replaces: bool,
) -> tuple[str, dict[str, str]]:
    """Return an override with the handler's signature, and its imports.

    The imports are modules by name, "" for a module itself. The override passes the call on, or
    with `replaces` has the handler's own body.
    """
    parameters = ", ".join(
        filter(None, ("ctx: Context", f"call_next: {call_type}", handler.parameters))
    )
    body = handler.body if replaces else _pass_on(handler)
    lines = [handler.docstring, *body.splitlines()]
    text = (
        f"@override({literal(operation)})\n"
        f"async def {function}({parameters}) -> {handler.returns}:\n"
        + "".join(f"    {line}\n" if line else "\n" for line in lines)
    )
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    known = {**handler.imports, **_RUNTIME, call_type: f"{package}._generated.calls"}
    return text, {name: known[name] for name in sorted(used & known.keys())}


def _pass_on(handler: HandlerSource) -> str:
    arguments = ", ".join(["ctx", *(f"{name}={name}" for name in handler.keywords)])
    return f"{'' if handler.returns == 'None' else 'return '}await call_next({arguments})\n"
