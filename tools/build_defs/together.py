# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The program of each `py_package_test`: runs tests of modules that it names.

  together.py adanet.core.scopes_test adanet.core.event_files_test
"""

from absl.testing import absltest

if __name__ == "__main__":
  absltest.main(module=None)
