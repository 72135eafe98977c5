"""The child process that runs datamodel-code-generator; a script, never imported.

Reads one JSON object from stdin, `{"definitions": {...}, "path": [...]}`, and writes the source of
one module to stdout. It runs isolated (`python -I`) in an empty folder, and an audit hook forbids
to write files and to connect.
"""

from __future__ import annotations

import gc
import json
import sys


def main() -> None:
    """Generate `TypedDict`s from the definitions."""
    gc.set_threshold(100_000)  # imports create many objects and no garbage
    request = json.load(sys.stdin)
    # `-I` hides a user's own site-packages; the parent says where the generator lives.
    sys.path.extend(entry for entry in request["path"] if entry not in sys.path)

    from datamodel_code_generator import InputFileType, generate
    from datamodel_code_generator.enums import DataModelType
    from datamodel_code_generator.format import PythonVersion
    from datamodel_code_generator.parser import LiteralType

    sys.addaudithook(_refuse)
    source = generate(
        json.dumps({"$defs": request["definitions"]}),
        input_filename="definitions.json",
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.TypingTypedDict,
        target_python_version=PythonVersion.PY_311,
        custom_class_name_generator=str,
        special_field_name_prefix="",
        enum_field_as_literal=LiteralType.All,
        skip_root_model=True,
        use_closed_typed_dict=False,
        use_standard_collections=True,
        use_union_operator=True,
        allow_remote_refs=False,
        disable_timestamp=True,
        formatters=[],
        encoding="utf-8",
    )
    sys.stdout.write(str(source))


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    is_write = event == "open" and isinstance(arguments[1], str) and arguments[1].strip("rbt") != ""
    if is_write or event in {"socket.connect", "socket.getaddrinfo", "subprocess.Popen"}:
        raise PermissionError(f"{event} is not for this process")


if __name__ == "__main__":
    main()
