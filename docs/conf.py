"""Configuration of the site: `make docs` builds it with Sphinx, MyST and the theme Furo."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")

project = "mcpgen"
html_title = "mcpgen"
html_theme = "furo"
extensions = ["myst_parser"]
exclude_patterns = ["requirements.txt"]
myst_heading_anchors = 4
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
nitpicky = True


def name_files_outside(app, document, source):
    """Replace links to files that are not part of the site by the paths of these files."""
    page = Path(app.env.doc2path(document))

    def replace(found):
        target = Path(os.path.normpath(page.parent / found[2].partition("#")[0]))
        if target.is_relative_to(DOCS):
            return found[0]
        path = target.relative_to(DOCS.parent).as_posix()
        return found[1] if path in found[1] else f"{found[1]} (`{path}`)"

    source[0] = LINK.sub(replace, source[0])
    if document == "index":
        source[0] += navigation()


def navigation():
    """Return the navigation: the pages of each folder in the order of the index."""
    linked = re.findall(r"\]\(([\w/-]+)\.md\)", (DOCS / "index.md").read_text("utf-8"))
    parts = []
    for caption in ("tutorial", "how-to", "reference", "explanation", ""):
        pages = [page for page in linked if page.rpartition("/")[0] == caption]
        title = caption.capitalize() or "Results"
        pages = list(dict.fromkeys(pages))
        parts.append(
            f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
        )
    return "\n".join(parts)


def setup(app):
    """Connect the change of sources."""
    app.connect("source-read", name_files_outside)
