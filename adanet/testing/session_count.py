# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether this process has made sessions, asked without loading TensorFlow."""

import sys


def session_count() -> int:
  """Returns how many sessions this process has made.

  The first one starts the threads that run the ops of all sessions. They do not
  survive a fork, and the sessions of a fork wait for them for ever.
  """
  # No version has this in public.
  module = sys.modules.get("tensorflow.python.client.session")
  counter = getattr(module, "_python_session_create_counter", None)
  return counter.get_cell().value() if counter else 0
