# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses an `adanet` that two installed distributions have mixed.

AdaNet of 2019 has the same import package. The later installation overwrites
files of the earlier installation without a warning. The folder then holds a mix
of both.
"""

import os
import re

# In each version of AdaNet, and not here.
_THEIRS = "core/estimator.py"


def check():
  """Checks that AdaNet of 2019 has no files in the folder.

  Raises:
    ImportError: AdaNet has files in the folder.
  """
  folder = os.path.dirname(os.path.abspath(__file__))
  if not os.path.exists(os.path.join(folder, _THEIRS)):
    return
  site = os.path.dirname(folder)
  versions = dict.fromkeys(("adanet", "adanet-distributed"), "")
  for name in os.listdir(site):
    metadata = re.match(
        r"(adanet(?:_distributed)?)-([^-]+).*\.(dist|egg)-info$", name)
    if metadata:
      versions[metadata[1].replace("_", "-")] = " " + metadata[2]
  raise ImportError(
      f"{' and '.join(map(''.join, versions.items()))} are both installed in "
      f"{site} and have overwritten each other's files of the import package "
      f"adanet: run 'pip uninstall {' '.join(versions)}', and then install the "
      "one that you want.")
