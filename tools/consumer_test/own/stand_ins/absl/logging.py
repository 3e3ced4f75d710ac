# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands in for absl.logging."""

import logging

DEBUG, INFO, WARNING, ERROR = 1, 0, -1, -2


def get_absl_logger():
  return logging.getLogger("absl")


class ABSLLogger:

  @staticmethod
  def register_frame_to_skip(file_name, function_name):
    pass
