"""The settings of Sphinx for the documentation site, which `build.py` builds."""

import inspect
import os
import re
from pathlib import Path
from pkgutil import resolve_name

from docutils import nodes
from sphinx.addnodes import pending_xref

import functier

project = "functier"
author = "The functier developers"
copyright = f"2026, {author}"
version = release = functier.__version__

extensions = [
    "myst_parser", "sphinx_copybutton", "sphinx_design", "sphinx.ext.autodoc",
    "sphinx.ext.linkcode", "sphinx.ext.napoleon",
]  # fmt: skip
copybutton_prompt_text = r">>> |\.\.\. "  # what is copied has neither prompts nor results
copybutton_prompt_is_regexp = True
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

default_role = "py:obj"  # `grad` in a docstring is a link
add_module_names = False
add_function_parentheses = False
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_admonition_for_examples = False
toc_object_entries_show_parents = "hide"

WITH_CONTENTS = [
    "index", "start/*", "tutorials/*", "howto/*", "coming-from/*", "reference/*", "design/*",
    "project/*",
]  # fmt: skip
"""The pages with their contents beside them; those of the gallery need the room for sources."""

REPOSITORY = "https://github.com/functier/functier"

html_theme = "pydata_sphinx_theme"
html_title = "functier"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_copy_source = False
html_show_sourcelink = False
html_favicon = "static/logo.svg"
html_theme_options = {
    "logo": {
        "text": f"functier {version}",
        "alt_text": "functier",
        "image_light": "static/logo.svg",
        "image_dark": "static/logo.svg",
    },
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [
        {"name": "Versions", "url": f"{REPOSITORY}/releases", "icon": "fa-solid fa-tags"},
        {"name": "Source", "url": REPOSITORY, "icon": "fa-brands fa-github"},
    ],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "secondary_sidebar_items": {pages: ["page-toc"] for pages in WITH_CONTENTS},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

if "SITE_VERSIONS" in os.environ:  # the address of the list that the workflow of a release keeps
    html_theme_options |= {
        "switcher": {"json_url": os.environ["SITE_VERSIONS"], "version_match": version},
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }


SOURCES = f"{REPOSITORY}/blob/main/src/functier"


def linkcode_resolve(domain, info):
    """Return the address of the source of an entry; None for what has no lines, as a constant."""
    try:
        value = inspect.unwrap(resolve_name(f"{info['module']}:{info['fullname']}"))
        lines, first = inspect.getsourcelines(value)
        path = Path(inspect.getsourcefile(value)).relative_to(Path(functier.__file__).parent)
    except (AttributeError, OSError, TypeError, ValueError):
        return None
    return f"{SOURCES}/{path.as_posix()}#L{first}-L{first + len(lines) - 1}"


def escape_stars(app, what, name, obj, options, lines):
    """Escape the stars in the types of parameters, which would begin emphasized text."""
    for i, line in enumerate(lines):
        if re.match(r"\w[\w, *]* : ", line) and "`" not in line:
            head, colon, kind = line.partition(" : ")
            lines[i] = head + colon + kind.replace("*", r"\*")


def drop_signature(app, what, name, obj, options, signature, returned):
    """Show errors, and classes that users do not call, without what functier gives to them."""
    inner = "._" in name and what == "class"
    return ("", None) if (what == "exception" or inner) and signature else None


TABLES = re.compile("reference/index|coming-from/.*")
"""The pages where each name of functier's is a link, without a prefix as well."""


def link_names(app, doctree):
    """Let each public name in backticks, such as ``ft.grad``, lead to its entry."""
    tables = TABLES.fullmatch(app.env.docname)
    for node in list(doctree.findall(nodes.literal)):
        name = re.fullmatch(r"((?:ft|functier)\.)?([\w.]+)(?:\(.*\))?", node.astext())
        if not name or isinstance(node.parent, (nodes.reference, nodes.title, pending_xref)):
            continue
        if name[1] or (tables and name[2].partition(".")[0] in dir(functier)):
            link = pending_xref("", node.deepcopy(), refdomain="py", reftype="obj")
            link.update_all_atts({"reftarget": f"functier.{name[2]}", "refdoc": app.env.docname})
            node.replace_self(link)


def setup(app):
    app.connect("doctree-read", link_names)
    app.connect("autodoc-process-signature", drop_signature)
    app.connect("autodoc-process-docstring", escape_stars, priority=400)  # napoleon has 500
