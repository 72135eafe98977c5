"""Import of a package with modified files, without writing them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


class Overlay(MetaPathFinder):
    """A finder for the modules of one package, with replaced content for some files.

    `import_with` starts without loaded modules of the package.
    """

    def __init__(self, package: str, project: Path) -> None:
        self._package = package
        self._project = project
        self.replaced: Mapping[str, bytes] = {}  # by absolute path
        self._compiled: dict[str, CodeType] = {}  # files that are not replaced

    @contextmanager
    def import_with(self, files: Mapping[str, bytes]) -> Iterator[None]:
        """Replace the content of files, by path in the project, for imports."""
        self.replaced = {str(self._project / path): data for path, data in files.items()}
        self._forget()
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._forget()
            self.replaced = {}

    def _forget(self) -> None:
        inside = f"{self._package}."
        for name in [name for name in sys.modules if f"{name}.".startswith(inside)]:
            del sys.modules[name]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the package; return None for other modules."""
        if fullname.partition(".")[0] != self._package:
            return None
        folders = [str(self._project / "src")] if path is None else path
        found = PathFinder.find_spec(fullname, folders, target)
        if found is None or found.origin is None:
            return found
        loader = _Loader(fullname, found.origin, self)
        return spec_from_file_location(
            fullname,
            found.origin,
            loader=loader,
            submodule_search_locations=found.submodule_search_locations,
        )

    def code_of(self, path: str) -> CodeType:
        """Compile a module's source; cache the code of files that are not replaced."""
        replaced = self.replaced.get(path)
        if replaced is not None:
            return compile(replaced, path, "exec", dont_inherit=True)
        code = self._compiled.get(path)
        if code is None:
            code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
            self._compiled[path] = code
        return code


class _Loader(SourceFileLoader):
    """A loader of modules and data files with the content of an overlay."""

    def __init__(self, fullname: str, path: str, overlay: Overlay) -> None:
        super().__init__(fullname, path)
        self._overlay = overlay

    def get_code(self, fullname: str) -> CodeType:
        return self._overlay.code_of(self.get_filename(fullname))

    def get_data(self, path: str) -> bytes:
        replaced = self._overlay.replaced.get(str(path))
        return super().get_data(path) if replaced is None else replaced
