# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which workers have no input left, so that no task waits for them.

    <model_dir>/cluster/departures/<generation>/<job>-<index>
"""

import os
from typing import List

from adanet import tf_compat
from adanet.tf_compat import files


class ExhaustedInputs:
  """The files of the workers whose input has ended."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._folder = os.path.join(model_dir, "cluster", "departures")

  def _of(self, generation):
    return os.path.join(self._folder, str(generation))

  def add(self, generation: int, task: str) -> None:
    """Records that a task trains no further in a generation."""
    files.write_text(
        os.path.join(self._of(generation), task.replace(":", "-")), "")

  def tasks(self, generation: int) -> List[str]:
    """Returns the names of the tasks that train no further."""
    return [name.replace("-", ":")
            for name in files.names(self._of(generation))]

  def clear(self) -> None:
    """Removes all, of earlier generations; for the chief."""
    gfile = tf_compat.v1.io.gfile
    if gfile.isdir(self._folder):
      gfile.rmtree(self._folder)
