# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
