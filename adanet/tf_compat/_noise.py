# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keeps TensorFlow as quiet as the environment variable TF_CPP_MIN_LOG_LEVEL asks.

Its C++ parts do that themselves: 1 is without notices, 2 without warnings, 3
without errors. But while TensorFlow 2.21 is loaded, it gives notices at every
level, and its Python warns of functions that are deprecated.

Without the variable, TensorFlow is as quiet as in the tasks of adanet-launch.
A program that imports TensorFlow first gets what that says when it is loaded.
"""

import contextlib
import logging
import os
import subprocess
from typing import Iterator

# The notices of C++ before it knows its level: "I0000 00:00:1795336624.687 ...".
_NOTICES = "^(I0000 00:00:|WARNING: All log messages before absl::Init)"


_DEFAULT_LEVEL = "2"


def _level() -> int:
  try:
    return int(os.environ.get("TF_CPP_MIN_LOG_LEVEL", _DEFAULT_LEVEL))
  except ValueError:
    return 0


def _is_no_deprecation(record: logging.LogRecord) -> bool:
  return "Instructions for updating:" not in str(record.msg)


def hide_deprecations() -> None:
  """Hides TensorFlow's warnings of deprecated functions, from level 2 on."""
  if _level() >= 2:
    logging.getLogger("tensorflow").addFilter(_is_no_deprecation)


@contextlib.contextmanager
def loading() -> Iterator[None]:
  """Hides TensorFlow's notices while it is loaded, from level 1 on.

  It sets the environment variable where it is not set: C++ reads it then.

  Another process passes the other lines of standard error on, so that they are
  seen even if TensorFlow aborts this one.
  """
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _DEFAULT_LEVEL)
  if _level() < 1:
    yield
    return
  with contextlib.ExitStack() as exits:
    try:
      stderr = os.dup(2)
      exits.callback(os.close, stderr)
      others = exits.enter_context(subprocess.Popen(
          ["grep", "--text", "--line-buffered", "--invert-match",
           "--extended-regexp", _NOTICES],
          stdin=subprocess.PIPE, stdout=stderr, start_new_session=True))
    except OSError:  # Standard error is closed, or there is no grep.
      yield
      return
    assert others.stdin is not None
    os.dup2(others.stdin.fileno(), 2)
    exits.callback(os.dup2, stderr, 2)
    yield
