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
"""adanet: many candidate networks and their ensemble, across a cluster."""

import importlib

from adanet import _sole_owner

_sole_owner.check()  # Before any module that the other one may have replaced.

from adanet.version import VERSION as __version__  # pylint: disable=g-import-not-at-top,wrong-import-position

_SUBPACKAGES = ("distributed", "tf_compat")


def __getattr__(name):
  """Imports a subpackage at the first use of it (PEP 562)."""
  if name in _SUBPACKAGES:
    return importlib.import_module("adanet." + name)
  raise AttributeError("module 'adanet' has no attribute '{}'".format(name))
