# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The `__init__.py` that Bazel gives to the folder of this repository.

Bazel puts the folder that holds all repositories on the import path, so there
`import adanet` finds the repository `adanet` before the package in it, and by
default makes an empty package of it. This one makes way for the real one.
"""

import importlib.util
import os
import sys

_PACKAGE = os.path.join(os.path.dirname(__file__), "adanet")
_SPEC = importlib.util.spec_from_file_location(
    __name__,
    os.path.join(_PACKAGE, "__init__.py"),
    submodule_search_locations=[_PACKAGE])
sys.modules[__name__] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(sys.modules[__name__])
