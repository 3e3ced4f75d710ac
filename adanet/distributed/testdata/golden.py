# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of the reference, AdaNet 0.9, in the files beside this one."""

import json

import runfiles


def load(name):
  """Returns the content of `<name>.json`."""
  path = runfiles.Create().Rlocation(
      f"adanet/adanet/distributed/testdata/{name}.json")
  with open(path, encoding="utf-8") as f:
    return json.load(f)
