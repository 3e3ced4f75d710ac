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
"""Figures of the reference, AdaNet 0.9, in the files beside this one."""

import json

import runfiles


def load(name):
  """Returns the content of `<name>.json`."""
  path = runfiles.Create().Rlocation(
      "adanet/adanet/distributed/testdata/{}.json".format(name))
  with open(path, encoding="utf-8") as f:
    return json.load(f)
