# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ways to start the tasks of a job: the values of --scheduler, and flags."""

from typing import Callable, Mapping, Sequence, Tuple

from absl import flags
from adanet.launch import kubernetes
from adanet.launch import slurm

LOCAL = "local"
SLURM = "slurm"
KUBERNETES = "kubernetes"
TASK = "task"
ALL = (LOCAL, SLURM, KUBERNETES, TASK)

# The flags that not all of them use.
_USERS = dict.fromkeys(("workers", "ps", "evaluator"),
                       (LOCAL, SLURM, KUBERNETES))
_USERS.update(dict.fromkeys(("log_dir", "private_network"), (LOCAL,)))
_USERS.update(dry_run=(LOCAL, SLURM, TASK), max_restarts=(LOCAL, KUBERNETES))
_USERS.update(dict.fromkeys(
    ("image", "name", "namespace", "volume_claim", "gpus_per_worker"),
    (KUBERNETES,)))


def choose(environ: Mapping[str, str],
           is_given: Callable[..., bool]) -> Tuple[str, str]:
  """Returns the scheduler for an environment, and the reason as a few words."""
  is_cluster = is_given("workers", "ps", "evaluator")
  if not is_cluster:
    for name, is_meant in (("TF_CONFIG", "TF_CONFIG" in environ),
                           ("ADANET_CLUSTER", kubernetes.in_pod(environ))):
      if is_meant:
        return TASK, f"{name} is set"
  # In a shell that srun started, --workers=3 asks for a cluster on this node.
  if slurm.in_step(environ):
    if not (is_given("workers") and slurm.is_alone(environ)):
      return SLURM, "SLURM_STEP_ID is set"
  elif slurm.lacks_srun(environ) and not is_given("workers"):
    return SLURM, "SLURM_JOB_ID is set"
  if is_cluster and any(name in environ for name in (
      "TF_CONFIG", "ADANET_CLUSTER", "SLURM_JOB_ID")):
    return LOCAL, "the flags describe a cluster"
  return LOCAL, "no TF_CONFIG and no SLURM_STEP_ID"


def check_flags(scheduler: str, is_given: Callable[..., bool]) -> None:
  """Raises ValueError for a flag without effect."""
  for name, users in _USERS.items():
    if is_given(name) and scheduler not in users:
      expected = ", ".join(users[:-1]) + " or " * (len(users) > 1) + users[-1]
      raise ValueError(f"--{name}: expected --scheduler={expected}, got "
                       f"--scheduler={scheduler}.")


def define_flags(flag_values: flags.FlagValues) -> None:
  """Defines the flags for Kubernetes."""
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


def kubernetes_spec(flag_values: flags.FlagValues,
                    program: Sequence[str]) -> kubernetes.Spec:
  """Returns the content of the manifests, from the flags."""
  return kubernetes.Spec(
      flag_values.image,
      (["-m"] if flag_values.module else []) + list(program),
      flag_values.workers, flag_values.ps, flag_values.evaluator,
      flag_values.name, flag_values.namespace, flag_values.max_restarts,
      flag_values.model_dir, flag_values.volume_claim,
      flag_values.gpus_per_worker)
