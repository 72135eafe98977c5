"""The files of the owner: manifest, workspace, tests, overlays, Arazzo documents and handlers."""
