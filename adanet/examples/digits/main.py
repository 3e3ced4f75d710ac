# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs digits.py on a cluster on this machine, in a new model_dir.

It stands for `adanet-launch --workers=3 --ps=2 --model_dir=DIR digits.py`.
Flags of adanet-launch may be added.
"""

import os
import sys
import tempfile

from adanet.launch import main

_PROGRAM = ["-m", "adanet.examples.digits.digits", "--verbosity=-1"]

if __name__ == "__main__":
  model_dir = os.path.join(
      tempfile.gettempdir(), "digits-" + os.urandom(4).hex())
  sys.exit(main.main(
      [sys.argv[0], "--workers=3", "--ps=2", "--model_dir=" + model_dir] +
      sys.argv[1:] + _PROGRAM))
