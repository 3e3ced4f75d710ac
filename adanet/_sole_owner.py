# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses an `adanet` that two installed distributions have mixed.

Each may own the import package: adanet of 2019, say, and this one. In one
folder, the later installation overwrites files of the earlier one without a
warning. The folder then holds a mix of both.
"""

import os

# Extension of a metadata folder -> (file that lists what was installed, start
# of the line for adanet).
_RECORDS = {
    ".dist-info": ("RECORD", b"\nadanet/"),
    ".egg-info": ("top_level.txt", b"\nadanet\n"),
}


def _owns(site, metadata):
  """Returns whether a distribution has files in the folder `adanet`.

  Args:
    site: str, the folder that holds `adanet` and the distribution's metadata.
    metadata: str, the name of the folder that holds the latter.
  """
  extension = os.path.splitext(metadata)[1]
  # What starts with "~" is what a pip that was stopped left behind.
  if extension not in _RECORDS or metadata.startswith("~"):
    return False
  name, line = _RECORDS[extension]
  try:
    with open(os.path.join(site, metadata, name), "rb") as f:
      return line in b"\n" + f.read() + b"\n"
  except OSError:
    return False


def check():
  """Checks that no other distribution has files in this folder.

  Raises:
    ImportError: one has.
  """
  site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  try:
    folders = sorted(os.listdir(site))
  except OSError:  # In a zip file there is one distribution.
    return
  owners = [os.path.splitext(f)[0].split("-") for f in folders
            if _owns(site, f)]
  if len(owners) > 1:
    names = [owner[0].replace("_", "-") for owner in owners]
    raise ImportError(
        "{} are both installed in {} and have overwritten each other's files "
        "of the import package adanet: run 'pip uninstall {}', and then "
        "install the one that you want.".format(
            " and ".join(" ".join([name] + owner[1:2])
                         for name, owner in zip(names, owners)),
            site, " ".join(names)))
