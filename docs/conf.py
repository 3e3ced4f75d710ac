# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How Sphinx writes the documentation; see https://www.sphinx-doc.org."""

import adanet

project = "adanet.distributed"
author = "The adanet.distributed Authors"
project_copyright = "2026, " + author
release = adanet.__version__
version = release

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# `name` in a docstring is a link where there is something of that name, and
# code where there is not: an argument, say, or what belongs to TensorFlow; and
# the types that docstrings give are prose. A link by a whole name must lead
# there.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:(obj|class|exc)", r"(?!adanet\.).*")]

autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "alabaster"
html_theme_options = {
    "description": "Many candidate networks and their ensemble, across a "
                   "TensorFlow cluster.",
    "page_width": "1080px",
    "show_powered_by": False,
}
html_show_sourcelink = False
html_copy_source = False
