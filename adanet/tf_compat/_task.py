# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task in a cluster, from `TF_CONFIG` or a resolver of `tf.distribute`.

Both follow the rules of `tf.estimator.RunConfig`, with two differences for a
resolver. In a cluster without a chief, worker 0 is the chief, as everywhere in
`tf.distribute`. And workers are numbered before the tasks of all other jobs.
Sources: tensorflow_estimator 2.15, `estimator/run_config.py`, and TensorFlow
2.15, `training/server_lib.py` (`ClusterSpec`) and
`distribute/multi_worker_util.py` (`is_chief`).
"""

import json
import os
from typing import Any, Dict, NamedTuple, Optional

from adanet import log as logging
from adanet.tf_compat import _tensorflow

# {job: {task index: address}}
Jobs = Dict[str, Dict[int, str]]


class TaskType:
  """The jobs of a cluster with a meaning for a `RunConfig`."""
  MASTER = "master"
  PS = "ps"
  WORKER = "worker"
  CHIEF = "chief"
  EVALUATOR = "evaluator"


class TaskInCluster(NamedTuple):
  """A task in a cluster: `jobs`, and attributes of `RunConfig`."""
  jobs: Jobs  # Empty for a local run, and for an evaluator.
  service: Optional[dict] = None
  task_type: str = TaskType.WORKER
  task_id: int = 0
  is_chief: bool = True
  num_worker_replicas: int = 1
  num_ps_replicas: int = 0
  global_id_in_cluster: Optional[int] = 0
  master: str = ""
  evaluation_master: str = ""


class _TaskSource(NamedTuple):
  """The names in errors, and the rules, of `TF_CONFIG` or of a resolver."""
  cluster: str
  task_type: str
  task_id: str
  is_resolver: bool


_TF_CONFIG = _TaskSource(
    "TF_CONFIG['cluster']", "TF_CONFIG['task']['type']",
    "TF_CONFIG['task']['index']", is_resolver=False)
_RESOLVER = _TaskSource(
    "resolver.cluster_spec()", "resolver.task_type", "resolver.task_id",
    is_resolver=True)


def as_object(value: Any, name: str) -> dict:
  """Returns an object, or raises an AttributeError."""
  if not isinstance(value, dict):
    raise AttributeError(f"{name} must be a JSON object, got {value!r}")
  return value


def read_tf_config() -> dict:
  """Returns the value of the environment variable `TF_CONFIG`."""
  text = os.environ.get("TF_CONFIG", "{}")
  try:
    return as_object(json.loads(text), "TF_CONFIG")
  except json.JSONDecodeError as error:
    raise json.JSONDecodeError(
        f"TF_CONFIG must be a JSON object, got {text!r}: {error.msg}",
        error.doc, error.pos) from None


def model_dir_of(tf_config: dict, model_dir: Optional[str]) -> Optional[str]:
  """Returns the model directory from the argument or `TF_CONFIG`."""
  configured = tf_config.get("model_dir")
  if configured == "":  # pylint: disable=g-explicit-bool-comparison
    raise ValueError("TF_CONFIG['model_dir'] must not be empty, got ''")
  if model_dir is None:
    return configured
  if configured is not None and configured != model_dir:
    raise ValueError(
        "model_dir must equal TF_CONFIG['model_dir'] where both are set, got "
        "%r and %r" % (model_dir, configured))
  return model_dir


def from_tf_config(tf_config: dict) -> TaskInCluster:
  """Returns the `TaskInCluster` of a parsed `TF_CONFIG`."""
  service = tf_config.get("service")
  if not isinstance(service, (dict, type(None))):
    raise TypeError(
        f"TF_CONFIG['service'] must be a JSON object, got {service!r}")
  jobs = _jobs(tf_config.get("cluster", {}), _TF_CONFIG)
  this = as_object(tf_config.get("task", {}), "TF_CONFIG['task']")
  if jobs:
    task = _task_in_cluster(
        jobs, this.get("type"), this.get("index"), _TF_CONFIG)
  else:
    task = _local_task(
        this.get("type", TaskType.WORKER), this.get("index", 0), _TF_CONFIG)
    if this:
      logging.warn_once(
          "TF_CONFIG['task'] is %s, but there is no TF_CONFIG['cluster']: this "
          "process trains alone. Set TF_CONFIG['cluster'] to train with other "
          "tasks, or remove the task.", json.dumps(this))
  is_evaluator = task.task_type == TaskType.EVALUATOR
  return task._replace(
      service=service,
      master=task.master if is_evaluator else tf_config.get(
          "session_master", task.master),
      evaluation_master=task.evaluation_master if task.jobs else tf_config.get(
          "eval_session_master", ""))


def for_chief(tf_config: dict) -> TaskInCluster:
  """Returns the chief's `TaskInCluster` of a parsed `TF_CONFIG`."""
  jobs = _jobs(tf_config.get("cluster", {}), _TF_CONFIG)
  if not jobs:
    raise ValueError("TF_CONFIG['cluster'] must name the tasks of the cluster, "
                     "got none")
  return _task_in_cluster(jobs, _chief_job(jobs, _TF_CONFIG), 0, _TF_CONFIG)


def from_cluster_resolver(resolver: Any) -> TaskInCluster:
  """Returns the `TaskInCluster` of a `ClusterResolver`.

  Reads the cluster once, because a service on the network may answer.
  """
  resolvers = _tensorflow.v1.distribute.cluster_resolver
  if not isinstance(resolver, resolvers.ClusterResolver):
    raise TypeError(
        "resolver must be a tf.distribute.cluster_resolver.ClusterResolver, "
        "got %s" % " ".join(repr(resolver).split()))
  # First the cluster: SlurmClusterResolver finds its own task by it.
  cluster_spec = resolver.cluster_spec()
  # An implementation need not have all three.
  task_type = getattr(resolver, "task_type", None)
  task_id = getattr(resolver, "task_id", None)
  rpc_layer = getattr(resolver, "rpc_layer", None) or "grpc"
  if not cluster_spec:
    return _local_task(
        task_type or TaskType.WORKER, 0 if task_id is None else task_id,
        _RESOLVER)
  if not task_type or task_id is None:
    # Every version of UnionResolver ignores a task_id of 0 of its own.
    raise ValueError(
        "resolver.task_type and resolver.task_id must say which task of the "
        "cluster this process is, got %r and %r: set resolver.task_type = "
        "'worker' and resolver.task_id = 0, for example (for a UnionResolver, "
        "set them on its first resolver)" % (task_type, task_id))
  # The message has every job as a map and every address as a string.
  message = _tensorflow.v1.train.ClusterSpec(cluster_spec).as_cluster_def()
  jobs = _jobs({job.name: dict(sorted(job.tasks.items()))
                for job in message.job}, _RESOLVER)
  return _task_in_cluster(jobs, task_type, task_id, _RESOLVER, rpc_layer)


def sizes(jobs: Jobs) -> Dict[str, int]:
  """Returns `{job: number of tasks}`, sorted by job, for messages."""
  return {job: len(jobs[job]) for job in sorted(jobs)}


def _jobs(cluster, source):
  """Returns the jobs of `cluster`, checked as `ClusterSpec` checks them."""
  if not isinstance(cluster, dict):
    raise TypeError("%s must be an object of jobs, got %r" %
                    (source.cluster, cluster))
  jobs = {}
  for job, tasks in cluster.items():
    name = f"{source.cluster}[{job!r}]"
    if isinstance(tasks, list):
      tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, dict):
      raise TypeError("%s must be a list of addresses or an object from task "
                      "index to address, got %r" % (name, tasks))
    jobs[job] = {}
    for key, address in tasks.items():
      index = _index(key, "a task index of " + name)
      if not isinstance(address, str):
        raise TypeError("%s[%d] must be a string, got %r" %
                        (name, index, address))
      jobs[job][index] = address
  return jobs


def _index(value, name):
  """Returns the index of a task, after checking `value`."""
  message = f"{name} must be an integer >= 0 and < 2**31, got {value!r}"
  try:
    index = int(value)
  except TypeError:
    raise TypeError(message) from None
  except (OverflowError, ValueError):
    raise ValueError(message) from None
  if not 0 <= index < 2**31:
    raise ValueError(message)
  return index


def _local_task(task_type, task_id, source):
  """Returns the only task of a run without a cluster."""
  task_id = _index(task_id, source.task_id)
  for name, value, expected in ((source.task_type, task_type, TaskType.WORKER),
                                (source.task_id, task_id, 0)):
    if value != expected:
      raise ValueError("%s must be %r without %s, got %r" %
                       (name, expected, source.cluster, value))
  return TaskInCluster(jobs={})


def _task_in_cluster(jobs, task_type, task_id, source, rpc_layer="grpc"):
  """Returns a task of a cluster, or an evaluator outside."""
  chief_job = _chief_job(jobs, source)
  # A list, because a type that JSON gives may have no hash.
  if task_type not in list(jobs) + [TaskType.EVALUATOR]:
    raise ValueError("%s must be 'evaluator' or a job of the cluster %r, got %r"
                     % (source.task_type, sizes(jobs), task_type))
  if task_id is None:
    raise ValueError("%s must be set with %s, got None" %
                     (source.task_id, source.cluster))
  task_id = _index(task_id, source.task_id)

  if task_type == TaskType.EVALUATOR:
    if chief_job == TaskType.MASTER:
      raise ValueError("%s must not be 'evaluator' in a cluster with a "
                       "'master', got 'evaluator'" % source.task_type)
    return TaskInCluster(
        jobs={},
        task_type=task_type,
        task_id=task_id,
        is_chief=False,
        num_worker_replicas=0,
        global_id_in_cluster=None)

  tasks = jobs[task_type]
  if task_id not in tasks:
    raise ValueError("%s must be the index of a task of %r in the cluster %r, "
                     "got %d" %
                     (source.task_id, task_type, sizes(jobs), task_id))
  # The only task of a cluster needs no server.
  is_alone = len(jobs) == 1 and list(tasks) == [0]
  return TaskInCluster(
      jobs=jobs,
      task_type=task_type,
      task_id=task_id,
      is_chief=task_type == chief_job and task_id == 0,
      num_worker_replicas=sum(
          len(jobs.get(job, ())) for job in {chief_job, TaskType.WORKER}),
      num_ps_replicas=len(jobs.get(TaskType.PS, ())),
      global_id_in_cluster=_first_global_id(
          jobs, chief_job, task_type, source) + task_id,
      master="" if is_alone else f"{rpc_layer}://{tasks[task_id]}")


def _chief_job(jobs, source):
  """Returns the job whose task 0 is the chief."""
  if TaskType.MASTER in jobs and TaskType.CHIEF in jobs:
    raise ValueError("%s must not have both a 'chief' and a 'master', got %r" %
                     (source.cluster, sorted(jobs)))
  expected = [TaskType.CHIEF] + [TaskType.WORKER] * source.is_resolver
  job = next((job for job in [TaskType.MASTER] + expected if job in jobs), None)
  if job is None:
    raise ValueError("%s must have one %s, got the jobs %r" %
                     (source.cluster, " or ".join(map(repr, expected)),
                      sorted(jobs)))
  if job != TaskType.WORKER and list(jobs[job]) != [0]:
    raise ValueError("%s[%r] must have one task, with index 0, got the indices "
                     "%r" % (source.cluster, job, sorted(jobs[job])))
  return job


def _first_global_id(jobs, chief_job, task_type, source):
  """Returns the number of task 0 of a job: chief first, then by name, ps last.

  A gap between the indices of a job has numbers too.
  """
  def rank(job):
    return (job != chief_job,
            source.is_resolver and job != TaskType.WORKER,
            job == TaskType.PS, job)

  first = 0
  for job in jobs:
    if rank(job) < rank(task_type):
      if not jobs[job]:
        raise ValueError("%s[%r] must name a task, got none" %
                         (source.cluster, job))
      first += max(jobs[job]) + 1
  return first
