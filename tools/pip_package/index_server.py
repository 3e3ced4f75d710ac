# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs pypiserver, a package index, with the given arguments."""

import sys

from pypiserver import __main__ as pypiserver

if __name__ == "__main__":
  sys.exit(pypiserver.main())
