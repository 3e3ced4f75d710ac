# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flags of adanet-launch that are for Kubernetes only."""

from typing import Sequence

from absl import flags
from adanet.launch import kubernetes


def define(flag_values: flags.FlagValues) -> None:
  """Defines the flags.

  Args:
    flag_values: gets them.
  """
  flags.DEFINE_string(
      "image", "", "For kubernetes: the container image. It has "
      "adanet-launch and the program.", flag_values=flag_values)
  flags.DEFINE_string(
      "name", "adanet", "For kubernetes: what the names of all objects begin "
      "with.", flag_values=flag_values)
  flags.DEFINE_string(
      "namespace", None, "For kubernetes: the namespace of all objects.",
      flag_values=flag_values)
  flags.DEFINE_string(
      "volume_claim", None, "For kubernetes: the PersistentVolumeClaim that "
      "is mounted at --model_dir, with access mode ReadWriteMany.",
      flag_values=flag_values)
  flags.DEFINE_integer(
      "gpus_per_worker", 0, "For kubernetes: number of GPUs of the chief and "
      "of each worker.", 0, flag_values=flag_values)


def spec(flag_values: flags.FlagValues,
         program: Sequence[str]) -> kubernetes.Spec:
  """Returns the content of the manifests that the flags ask for.

  Args:
    flag_values: all flags of adanet-launch, parsed.
    program: the program and its arguments.
  """
  return kubernetes.Spec(
      flag_values.image,
      (["-m"] if flag_values.module else []) + list(program),
      flag_values.workers, flag_values.ps, flag_values.evaluator,
      flag_values.name, flag_values.namespace, flag_values.max_restarts,
      flag_values.model_dir, flag_values.volume_claim,
      flag_values.gpus_per_worker)
