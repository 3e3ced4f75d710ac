# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the command runs."""

import pathlib

_GREETING = pathlib.Path(__file__).with_name("greeting.txt")


def main():
  print(_GREETING.read_text(encoding="utf-8"), end="")
