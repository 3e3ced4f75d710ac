# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How Sphinx writes the documentation; see https://www.sphinx-doc.org."""

import adanet

project = "adanet"
author = "The adanet.distributed Authors"
project_copyright = "2026, " + author
release = adanet.__version__
version = release

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# `name` in a docstring is a link if there is something of that name, and code if
# not: an argument or a name of TensorFlow. A link to `adanet...` must work.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [
    ("py:(obj|class|exc)", r"(?!adanet\.).*"),
    ("py:class", r".*\._\w+.*"),  # Private types.
    # So is what the text describes, and what only adanet passes on.
    ("py:class", r"adanet\.(core|estimator\.best_ensemble)\..*"),
]

autoclass_content = "both"  # The arguments are in the docstring of __init__.
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
# Of EnsembleSearch.fit, which has many arguments.
napoleon_custom_sections = [
    (name, "params_style") for name in (
        "The data", "How a network trains", "How much of the search now")]
napoleon_google_docstring = True
napoleon_use_ivar = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_title = "adanet " + release
html_show_sourcelink = False
html_copy_source = False


def _skip_fields(app, what, name, value, skip, options):
  """Skips a namedtuple's fields, which its docstring describes."""
  del app, what, name, options
  doc = getattr(value, "__doc__", None) or ""
  return True if doc.startswith("Alias for field number") else skip


def setup(app):
  app.connect("autodoc-skip-member", _skip_fields)
