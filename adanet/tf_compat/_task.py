# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One task in its cluster, from `TF_CONFIG` or a resolver of `tf.distribute`.

Both are read by the rules of `tf.estimator.RunConfig`, but for two. Where the
cluster of a resolver names no chief, worker 0 is the chief, as everywhere in
`tf.distribute`; and its workers are numbered before the tasks of jobs that do
not train, whatever their names. Source: tensorflow_estimator 2.15,
`estimator/run_config.py`, and TensorFlow 2.15, `training/server_lib.py`
(`ClusterSpec`) and `distribute/multi_worker_util.py` (`is_chief`).
"""

import operator
import typing

from adanet.tf_compat import _tensorflow


class TaskType(object):
  """The jobs of a cluster that a `RunConfig` tells apart."""
  MASTER = "master"
  PS = "ps"
  WORKER = "worker"
  CHIEF = "chief"
  EVALUATOR = "evaluator"


class _Source(typing.NamedTuple):
  """Who describes a cluster: what errors call its parts, and its customs."""
  cluster: str
  task_type: str
  task_id: str
  chief_jobs: tuple  # Where its chief is, in this order, if it has no master.
  counts_workers_first: bool
  rpc_layer: str = "grpc"


_TF_CONFIG = _Source(
    cluster="TF_CONFIG['cluster']",
    task_type="TF_CONFIG['task']['type']",
    task_id="TF_CONFIG['task']['index']",
    chief_jobs=(TaskType.CHIEF,),
    counts_workers_first=False)

_RESOLVER = _Source(
    cluster="resolver.cluster_spec()",
    task_type="resolver.task_type",
    task_id="resolver.task_id",
    chief_jobs=(TaskType.CHIEF, TaskType.WORKER),
    counts_workers_first=True)


class Cluster(typing.NamedTuple):
  """The tasks of a cluster; no jobs for a local run."""
  jobs: dict  # {job: {task index: address}}
  source: _Source

  def row(self, job):
    """Lays a job's tasks out in a row, as `ClusterSpec.job_tasks` does.

    There a gap between indices has no address, and a negative index counts from
    the end of the row.

    Args:
      job: The name of a job in the cluster.

    Returns:
      The length of the row, and a dict from position to address.

    Raises:
      IndexError: If a negative index is off the row.
      ValueError: If the job has no tasks.
    """
    tasks = self.jobs[job]
    if not tasks:
      raise ValueError(
          "%s[%r] must name a task, got none" % (self.source.cluster, job))
    length = max(tasks) + 1
    if min(tasks) < -length:
      raise IndexError("a task index of %s[%r] must be >= 0, got %d" %
                       (self.source.cluster, job, min(tasks)))
    return length, {index % length: tasks[index] for index in tasks}

  def sizes(self):
    """Returns `{job: number of its tasks}`, or raises as `row` does."""
    for job, tasks in self.jobs.items():
      # ClusterSpec.as_dict(), by which tf.estimator counts, lays out these.
      if tasks and max(tasks) + 1 == len(tasks):
        self.row(job)
    return {job: len(tasks) for job, tasks in self.jobs.items()}

  def __str__(self):
    """Says how many tasks each job has, for a reader: "{'chief': 1}"."""
    return repr(dict(sorted(self.sizes().items())))


class Task(typing.NamedTuple):
  """One task in its cluster; fields but the first are those of `RunConfig`."""
  cluster: Cluster
  service: typing.Optional[dict]
  task_type: str = TaskType.WORKER
  task_id: int = 0
  is_chief: bool = True
  num_worker_replicas: int = 1
  num_ps_replicas: int = 0
  global_id_in_cluster: typing.Optional[int] = 0
  master: str = ""
  evaluation_master: str = ""


def from_tf_config(tf_config):
  """Returns the `Task` that a parsed `TF_CONFIG` describes, or raises."""
  return _task(tf_config, _TF_CONFIG)


def for_chief(tf_config):
  """Returns the `Task` of the chief in the cluster of a parsed `TF_CONFIG`.

  Args:
    tf_config: The value of `TF_CONFIG`, of which only "cluster" counts.

  Raises:
    AttributeError: If `tf_config` is not an object.
    IndexError: If a negative task index of "cluster" leads nowhere.
    TypeError: If a part of "cluster" has a wrong type.
    ValueError: If one has a wrong value, or there is no cluster or no chief.
  """
  if not isinstance(tf_config, dict):
    raise AttributeError(
        "TF_CONFIG must be a JSON object, got %r" % (tf_config,))
  cluster = tf_config.get("cluster", {})
  if cluster == {}:  # pylint: disable=g-explicit-bool-comparison
    raise ValueError("TF_CONFIG['cluster'] must name the tasks of the cluster, "
                     "got none")
  is_master = isinstance(cluster, dict) and TaskType.MASTER in cluster
  return from_tf_config({
      "cluster": cluster,
      "task": {
          "type": TaskType.MASTER if is_master else TaskType.CHIEF,
          "index": 0,
      },
  })


def from_cluster_resolver(resolver):
  """Returns the `Task` that a resolver describes, or raises.

  Args:
    resolver: A `tf.distribute.cluster_resolver.ClusterResolver`. Its cluster is
      asked for once: behind it there may be a service on the network.

  Returns:
    A `Task`.

  Raises:
    TypeError: If `resolver` is not one, or a part of it has a wrong type.
    ValueError: If a part of it has a wrong value.
    Exception: What the resolver raises.
  """
  resolvers = _tensorflow.v1.distribute.cluster_resolver
  if not isinstance(resolver, resolvers.ClusterResolver):
    raise TypeError(
        "resolver must be a tf.distribute.cluster_resolver.ClusterResolver, "
        "got %s" % " ".join(repr(resolver).split()))
  cluster_spec = resolver.cluster_spec()
  # After the cluster, by which SlurmClusterResolver finds its own task. An
  # implementation need not have all three.
  task_type = getattr(resolver, "task_type", None)
  task_id = getattr(resolver, "task_id", None)
  rpc_layer = getattr(resolver, "rpc_layer", None) or _RESOLVER.rpc_layer
  if cluster_spec and (not task_type or task_id is None):
    # A UnionResolver takes its own task 0 for unset, in every version.
    raise ValueError(
        "resolver.task_type and resolver.task_id must say which task of the "
        "cluster this process is, got %r and %r: set resolver.task_type = "
        "'worker' and resolver.task_id = 0, say, and those of a UnionResolver "
        "on its first resolver" % (task_type, task_id))
  if not isinstance(rpc_layer, str):
    raise TypeError(
        "resolver.rpc_layer must be a string or None, got %r" % (rpc_layer,))

  description = {
      "task": {
          "type": task_type or TaskType.WORKER,
          "index": 0 if task_id is None else task_id,
      }
  }
  if cluster_spec:
    # As a message, which has every job as a map and every address as text.
    message = _tensorflow.v1.train.ClusterSpec(cluster_spec).as_cluster_def()
    description["cluster"] = {
        job.name: dict(sorted(job.tasks.items())) for job in message.job
    }
  return _task(description, _RESOLVER._replace(rpc_layer=rpc_layer))


# What follows turns a description, shaped as TF_CONFIG is, into a Task.
# TensorFlow's order of checks is kept, because it decides which exception a
# doubly wrong value gets.


def _task(description, source):
  """Returns the `Task` that `description` describes, or raises."""
  service = description.get("service")
  if service is not None and not isinstance(service, dict):
    raise TypeError(
        "TF_CONFIG['service'] must be an object, got %r" % (service,))
  cluster = Cluster(_jobs(description.get("cluster", {}), source), source)
  make = _task_in_cluster if cluster.jobs else _local_task
  return make(description, cluster, service)


def _jobs(value, source):
  """Returns `{job: {task index: address}}`, checked as `ClusterSpec` would."""
  if not isinstance(value, dict):
    raise TypeError("%s must be an object of jobs, got %r" %
                    (source.cluster, value))
  jobs = {}
  for job, tasks in value.items():
    if isinstance(tasks, list):
      jobs[job] = dict(enumerate(tasks))
    elif isinstance(tasks, dict):
      jobs[job] = {
          _integer(index, "a task index of %s[%r]" % (source.cluster, job)):
              address for index, address in tasks.items()
      }
    else:
      raise TypeError("%s[%r] must be a list of addresses or an object from "
                      "task index to address, got %r" %
                      (source.cluster, job, tasks))
  for job, tasks in sorted(jobs.items()):
    _check_text(job, "a job of " + source.cluster)
    for index, address in sorted(tasks.items(), key=operator.itemgetter(0)):
      _check_text(address, "%s[%r][%d]" % (source.cluster, job, index))
      if not -2**31 <= index < 2**31:
        raise ValueError("a task index of %s[%r] must fit into 32 bits, got %d"
                         % (source.cluster, job, index))
  return jobs


def _integer(value, name):
  """Returns `int(value)`; `name` says in an error what should have been one."""
  try:
    return int(value)
  except (OverflowError, TypeError, ValueError) as error:
    raise type(error)(
        "%s must be an integer, got %r" % (name, value)) from None


def _check_text(value, name):
  """Raises if `value` is not text that a protocol buffer can hold."""
  if not isinstance(value, str):
    raise TypeError("%s must be a string, got %r" % (name, value))
  try:
    value.encode("utf-8")
  except UnicodeEncodeError as error:
    raise UnicodeEncodeError(
        error.encoding, error.object, error.start, error.end,
        "%s must be Unicode text, got %r" % (name, value)) from None


def _local_task(description, cluster, service):
  """Returns the only task of a run without a cluster."""
  source = cluster.source
  task = _object(description, "task")
  task_type = task.get("type", TaskType.WORKER)
  task_id = _integer(task.get("index", 0), source.task_id)
  if task_type != TaskType.WORKER:
    raise ValueError("%s must be 'worker' without %s, got %r" %
                     (source.task_type, source.cluster, task_type))
  if task_id != 0:
    raise ValueError("%s must be 0 without %s, got %r" %
                     (source.task_id, source.cluster, task_id))
  return Task(
      cluster=cluster,
      service=service,
      master=description.get("session_master", ""),
      evaluation_master=description.get("eval_session_master", ""))


def _task_in_cluster(description, cluster, service):
  """Returns this task of a cluster, which has one chief or, once, a master."""
  chief_job = _chief_job(cluster)
  has_master = chief_job == TaskType.MASTER
  task_type, task_id = _type_and_id(description, cluster)

  if task_type == TaskType.EVALUATOR:
    if has_master:
      raise ValueError("%s must not be 'evaluator' in a cluster with a "
                       "'master', got 'evaluator'" % cluster.source.task_type)
    # An evaluator stands outside the cluster and sees nothing of it.
    return Task(
        cluster=cluster._replace(jobs={}),
        service=service,
        task_type=task_type,
        task_id=task_id,
        is_chief=False,
        num_worker_replicas=0,
        global_id_in_cluster=None,
        evaluation_master=description.get("eval_session_master", ""))

  if has_master:  # Here tf.estimator numbers the tasks first.
    _global_id(cluster, chief_job, task_type, task_id)
  master = _master(description, cluster, task_type, task_id)
  sizes = cluster.sizes()
  return Task(
      cluster=cluster,
      service=service,
      task_type=task_type,
      task_id=task_id,
      is_chief=task_type == chief_job and task_id == 0,
      num_worker_replicas=sum(
          sizes.get(job, 0) for job in {chief_job, TaskType.WORKER}),
      num_ps_replicas=sizes.get(TaskType.PS, 0),
      global_id_in_cluster=_global_id(cluster, chief_job, task_type, task_id),
      master=master)


def _object(description, key):
  """Returns `description[key]`, an object or absent; raises otherwise."""
  value = description.get(key, {})
  if not isinstance(value, dict):
    raise AttributeError(
        "TF_CONFIG[%r] must be an object, got %r" % (key, value))
  return value


def _chief_job(cluster):
  """Returns the job whose task 0 is the chief."""
  source = cluster.source
  if TaskType.MASTER in cluster.jobs and TaskType.CHIEF in cluster.jobs:
    raise ValueError("%s must not have both a 'chief' and a 'master', got %r" %
                     (source.cluster, sorted(cluster.jobs)))
  for job in (TaskType.MASTER,) + source.chief_jobs:
    if job in cluster.jobs:
      break
  else:
    raise ValueError("%s must have one %s, got the jobs %r" %
                     (source.cluster, " or ".join(map(repr, source.chief_jobs)),
                      sorted(cluster.jobs)))
  length, _ = cluster.row(job)
  if length > 1 and job != TaskType.WORKER:
    raise ValueError("%s[%r] must have one task, got %d" %
                     (source.cluster, job, length))
  return job


def _type_and_id(description, cluster):
  """Returns the type and the index of this task, checked against `cluster`."""
  source = cluster.source
  task = _object(description, "task")
  task_type = task.get("type")
  if not task_type:
    raise ValueError("%s must name a job of %s, got %r" %
                     (source.task_type, source.cluster, task_type))
  if task.get("index") is None:
    raise ValueError("%s must be set with %s, got None" %
                     (source.task_id, source.cluster))
  task_id = _integer(task["index"], source.task_id)
  if task_id < 0:
    raise ValueError("%s must be >= 0, got %d" % (source.task_id, task_id))
  if task_type == TaskType.EVALUATOR:
    return task_type, task_id

  if task_type not in list(cluster.jobs):  # A list, for a type without a hash.
    raise ValueError("%s must be 'evaluator' or a job of the cluster %s, got %r"
                     % (source.task_type, cluster, task_type))
  length, _ = cluster.row(task_type)
  if task_id >= length:
    raise ValueError("%s must be below %d for %r in the cluster %s, got %d" %
                     (source.task_id, length, task_type, cluster, task_id))
  return task_type, task_id


def _master(description, cluster, task_type, task_id):
  """Returns the address of this task's session."""
  if "session_master" in description:
    return description["session_master"]
  length, addresses = cluster.row(task_type)
  if len(cluster.jobs) == 1 and length == 1:
    return ""  # Alone: TensorFlow's own process, without a server between.
  if task_id not in addresses:
    raise TypeError("%s[%r][%d] must be the address of this task, got none" %
                    (cluster.source.cluster, task_type, task_id))
  return "%s://%s" % (cluster.source.rpc_layer, addresses[task_id])


def _global_id(cluster, chief_job, task_type, task_id):
  """Numbers this task: the chief's job, others by name, parameter servers."""
  # tf.estimator counts a job of its user's, by its name, among the workers.
  workers_first = cluster.source.counts_workers_first
  first = 0
  for job in sorted(
      cluster.jobs,
      key=lambda job: (job != chief_job,
                       workers_first and job != TaskType.WORKER,
                       job == TaskType.PS, job)):
    if job == task_type:
      return first + task_id
    first += cluster.row(job)[0]
  raise AssertionError(task_type)  # _type_and_id() has looked.
