# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`python -m adanet.distributed.plan` is adanet-plan."""

import sys

from adanet.distributed.plan import main

if __name__ == "__main__":
  sys.exit(main.main())
