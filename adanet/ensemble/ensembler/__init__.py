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
"""Refuses an `adanet` whose files another distribution has overwritten.

Only AdaNet's own ensemble/__init__.py imports this. Its files replace ours of
the same names where it is installed after us, `adanet/__init__.py` first of
all; but Python prefers a folder to a module, so this takes the place of its
`ensembler.py`, the first that it imports of those that have no twin here.
"""

from adanet import _sole_owner

_sole_owner.check()
raise ModuleNotFoundError("No module named '{}'".format(__name__),
                          name=__name__)
