# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`python -m adanet.launch` is adanet-launch."""

import sys

from adanet.launch import main

if __name__ == "__main__":
  sys.exit(main.main())
