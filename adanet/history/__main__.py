# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs `adanet-report` as `python -m adanet.history`."""

import sys

from adanet.history import main

if __name__ == "__main__":
  sys.exit(main.main())
