# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which workers train no further, so that nobody waits for them.

    <model_dir>/cluster/departures/<generation>/<job>-<index>

The text of a file is the name of the `Ending` of its worker: the input of the
worker has ended, or a hook of it asked for a stop.
"""

import os
from typing import Dict

from adanet.tf_compat import files
from adanet.training import loop as loop_lib


class StoppedWorkers:
  """The files of the workers that train no further."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._folder = os.path.join(model_dir, "cluster", "departures")

  def _of(self, generation):
    return os.path.join(self._folder, str(generation))

  def add(self, generation: int, task: str, ending: loop_lib.Ending) -> None:
    """Records why a task trains no further in a generation."""
    files.write_text(
        os.path.join(self._of(generation), task.replace(":", "-")), ending.name)

  def endings(self, generation: int) -> Dict[str, loop_lib.Ending]:
    """Returns why tasks train no further, by their names."""
    folder = self._of(generation)
    texts = {name: files.read_text(os.path.join(folder, name))
             for name in files.names(folder)}
    return {name.replace("-", ":"): loop_lib.Ending[text]
            for name, text in texts.items() if text}

  def clear(self) -> None:
    """Removes all, of earlier generations; for the chief."""
    files.remove_folder(self._folder)
