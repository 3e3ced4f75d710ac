# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts of an iteration, for executors: written by hand, or waited for."""

import os
from typing import Any, Tuple

from adanet.engines.executor import part as part_lib
from adanet.engines.executor import part_files
from adanet.testing import processes
from adanet.training import candidates
from adanet.training import ending as ending_lib
from adanet.training import trained


def request(model_dir: str, driver: str, part: Tuple[str, ...] = ("a",)
            ) -> part_lib.PartRequest:
  """Returns what a driver asks of a worker: a part of iteration 0."""
  return part_lib.PartRequest(
      part, num_parts=2, is_first=True, compares=True,
      records=False, start=trained.Start(0, None), max_steps=None,
      builder_names=("a", "b"), model_dir=model_dir, driver=driver,
      driver_process=part_files.worker_name())


def result(driver: str = "driver",
           ending: ending_lib.Ending = ending_lib.Ending.ITERATION_OVER,
           **values: Any) -> part_files.Result:
  """Returns the result of a part."""
  return part_files.Result(
      ending, driver, max_steps=None, checkpoint="a/b/model.ckpt-4",
      steps={"t0_a": 4}, losses={},
      compared=candidates.Comparison({}), not_finite={}, logits=None,
      averages={}, weights={}, reports=(), stopped=(), seconds=1.
      )._replace(**values)


def wait_until_trained(
    model_dir: str, number: int, name: str, step: int) -> None:
  """Waits until a part has a checkpoint of a step, or of one after it."""
  folder = os.path.join(model_dir, "parts", str(number), name)

  def is_saved():
    return any(
        file.endswith(".index") and int(file.split("-")[1].split(".")[0]) >=
        step for _, _, files in os.walk(folder) for file in files
        if file.startswith("model.ckpt-"))

  processes.wait_until(is_saved, f"step {step} of {name} in {number}")
