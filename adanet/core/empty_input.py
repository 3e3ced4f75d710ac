# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The error of an input that ends before its first batch."""


class EmptyInputError(ValueError):
  """An input has no batch, so there is nothing to train on or to evaluate."""


def empty_input_error(what: str) -> EmptyInputError:
  """Returns the error of an input without a batch.

  Args:
    what: str, the reader of the input: "evaluate".
  """
  return EmptyInputError(
      f"{what}: the input has no batch. Check what input_fn reads: missing "
      "files, a filter that keeps nothing, drop_remainder with fewer examples "
      "than a batch, or a generator that was read before")
