# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""A `RunConfig` for every TensorFlow: one task, its cluster and its run.

`tf.estimator.RunConfig` is gone since TensorFlow 2.16. This one describes a
run with the same attributes and reads the environment variable `TF_CONFIG` as
TensorFlow 2.15 does: the same values for a good one, the same type of exception
for a bad one. Source: tensorflow_estimator 2.15, `estimator/run_config.py`, and
TensorFlow 2.15, `training/server_lib.py` (`ClusterSpec`).

A `RunConfig` is made without TensorFlow; `cluster_spec` and a default
`session_config` are built when they are first read, and those two need it.
"""

import copy
import functools
import inspect
import json
import operator
import os
import typing

from adanet.tf_compat import _tensorflow


class TaskType(object):
  """The jobs of a cluster that a `RunConfig` tells apart."""
  MASTER = "master"
  PS = "ps"
  WORKER = "worker"
  CHIEF = "chief"
  EVALUATOR = "evaluator"


class _Task(typing.NamedTuple):
  """One task in its cluster; the fields are attributes of `RunConfig`."""
  cluster: dict  # {job: {task index: address}}; empty for a local run
  service: typing.Optional[dict]
  task_type: str = TaskType.WORKER
  task_id: int = 0
  is_chief: bool = True
  num_worker_replicas: int = 1
  num_ps_replicas: int = 0
  global_id_in_cluster: typing.Optional[int] = 0
  master: str = ""
  evaluation_master: str = ""


# What follows turns the text of TF_CONFIG into a _Task. TensorFlow's order of
# checks is kept, because it decides which exception a doubly wrong value gets.


def _parse(text):
  """Returns the value of `TF_CONFIG`, whatever it is, or raises."""
  try:
    return json.loads(text)
  except json.JSONDecodeError as error:
    raise json.JSONDecodeError(
        "TF_CONFIG must be a JSON object, got %r: %s" % (text, error.msg),
        error.doc, error.pos) from None


def _model_dir(tf_config, model_dir):
  """Returns the one model directory, from the argument or `TF_CONFIG`."""
  if model_dir == "":  # pylint: disable=g-explicit-bool-comparison
    raise ValueError("model_dir must not be empty, got ''")
  if not isinstance(tf_config, dict):
    raise AttributeError("TF_CONFIG must be a JSON object, got %r" %
                         (tf_config,))
  configured = tf_config.get("model_dir")
  if configured == "":  # pylint: disable=g-explicit-bool-comparison
    raise ValueError("TF_CONFIG['model_dir'] must not be empty, got ''")
  if configured and model_dir and configured != model_dir:
    raise ValueError(
        "model_dir must equal TF_CONFIG['model_dir'] where both are set, got "
        "%r and %r" % (model_dir, configured))
  return model_dir or configured


def _task(tf_config):
  """Returns the `_Task` that a parsed `TF_CONFIG` describes, or raises."""
  service = tf_config.get("service")
  if service is not None and not isinstance(service, dict):
    raise TypeError(
        "TF_CONFIG['service'] must be an object, got %r" % (service,))
  cluster = _cluster(tf_config.get("cluster", {}))
  make = _task_in_cluster if cluster else _local_task
  return make(tf_config, cluster, service)


def _cluster(jobs):
  """Returns `{job: {task index: address}}`, checked as `ClusterSpec` would."""
  if not isinstance(jobs, dict):
    raise TypeError("TF_CONFIG['cluster'] must be an object of jobs, got %r" %
                    (jobs,))
  cluster = {}
  for job, tasks in jobs.items():
    if isinstance(tasks, list):
      cluster[job] = dict(enumerate(tasks))
    elif isinstance(tasks, dict):
      cluster[job] = {
          _integer(index, "a task index of TF_CONFIG['cluster'][%r]" % job):
              address for index, address in tasks.items()
      }
    else:
      raise TypeError("TF_CONFIG['cluster'][%r] must be a list of addresses or "
                      "an object from task index to address, got %r" %
                      (job, tasks))
  for job, tasks in sorted(cluster.items()):
    _check_text(job, "a job of TF_CONFIG['cluster']")
    for index, address in sorted(tasks.items(), key=operator.itemgetter(0)):
      _check_text(address, "TF_CONFIG['cluster'][%r][%d]" % (job, index))
      if not -2**31 <= index < 2**31:
        raise ValueError("a task index of TF_CONFIG['cluster'][%r] must fit "
                         "into 32 bits, got %d" % (job, index))
  return cluster


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


def _layout(cluster, job):
  """Lays a job's tasks out in a row, as `ClusterSpec.job_tasks` does.

  There a gap between indices has no address, and a negative index counts from
  the end of the row.

  Args:
    cluster: The cluster.
    job: The name of a job in it.

  Returns:
    The length of the row, and a dict from position to address.

  Raises:
    IndexError: If a negative index is off the row.
    ValueError: If the job has no tasks.
  """
  tasks = cluster[job]
  if not tasks:
    raise ValueError(
        "TF_CONFIG['cluster'][%r] must name a task, got none" % job)
  length = max(tasks) + 1
  if min(tasks) < -length:
    raise IndexError("a task index of TF_CONFIG['cluster'][%r] must be >= 0, "
                     "got %d" % (job, min(tasks)))
  return length, {index % length: tasks[index] for index in tasks}


def _num_tasks(cluster):
  """Returns `{job: number of its tasks}`, or raises as `_layout` does."""
  for job, tasks in cluster.items():
    # ClusterSpec.as_dict(), which tf.estimator counts by, lays out these only.
    if tasks and max(tasks) + 1 == len(tasks):
      _layout(cluster, job)
  return {job: len(tasks) for job, tasks in cluster.items()}


def _describe(cluster):
  """Returns how many tasks each job has, for a reader: "{'chief': 1}"."""
  return repr(dict(sorted(_num_tasks(cluster).items())))


def _local_task(tf_config, cluster, service):
  """Returns the only task of a run without a cluster."""
  task = _object(tf_config, "task")
  task_type = task.get("type", TaskType.WORKER)
  task_id = _integer(task.get("index", 0), "TF_CONFIG['task']['index']")
  if task_type != TaskType.WORKER:
    raise ValueError("TF_CONFIG['task']['type'] must be 'worker' without "
                     "TF_CONFIG['cluster'], got %r" % (task_type,))
  if task_id != 0:
    raise ValueError("TF_CONFIG['task']['index'] must be 0 without "
                     "TF_CONFIG['cluster'], got %r" % task_id)
  return _Task(
      cluster=cluster,
      service=service,
      master=tf_config.get("session_master", ""),
      evaluation_master=tf_config.get("eval_session_master", ""))


def _task_in_cluster(tf_config, cluster, service):
  """Returns this task of a cluster, which has a chief or, once, a master."""
  has_master = TaskType.MASTER in cluster
  if has_master and TaskType.CHIEF in cluster:
    raise ValueError("TF_CONFIG['cluster'] must not have both a 'chief' and a "
                     "'master', got %r" % sorted(cluster))
  chief = TaskType.MASTER if has_master else TaskType.CHIEF
  task_type, task_id = _type_and_id(tf_config, cluster, chief)

  if task_type == TaskType.EVALUATOR:
    if has_master:
      raise ValueError("TF_CONFIG['task']['type'] must not be 'evaluator' in a "
                       "cluster with a 'master', got 'evaluator'")
    # An evaluator stands outside the cluster and sees nothing of it.
    return _Task(
        cluster={},
        service=service,
        task_type=task_type,
        task_id=task_id,
        is_chief=False,
        num_worker_replicas=0,
        global_id_in_cluster=None,
        evaluation_master=tf_config.get("eval_session_master", ""))

  if has_master:  # Here tf.estimator numbers the tasks first.
    _global_id(cluster, chief, task_type, task_id)
  master = _master(tf_config, cluster, task_type, task_id)
  sizes = _num_tasks(cluster)
  return _Task(
      cluster=cluster,
      service=service,
      task_type=task_type,
      task_id=task_id,
      is_chief=task_type == chief,
      num_worker_replicas=sizes[chief] + sizes.get(TaskType.WORKER, 0),
      num_ps_replicas=sizes.get(TaskType.PS, 0),
      global_id_in_cluster=_global_id(cluster, chief, task_type, task_id),
      master=master)


def _object(tf_config, key):
  """Returns `tf_config[key]`, an object or absent; raises otherwise."""
  value = tf_config.get(key, {})
  if not isinstance(value, dict):
    raise AttributeError(
        "TF_CONFIG[%r] must be an object, got %r" % (key, value))
  return value


def _type_and_id(tf_config, cluster, chief):
  """Returns the type and the index of this task, checked against `cluster`."""
  if chief not in cluster:
    raise ValueError("TF_CONFIG['cluster'] must have one 'chief', got the jobs "
                     "%r" % sorted(cluster))
  num_chiefs, _ = _layout(cluster, chief)
  if num_chiefs > 1:
    raise ValueError("TF_CONFIG['cluster'][%r] must have one task, got %d" %
                     (chief, num_chiefs))

  task = _object(tf_config, "task")
  task_type = task.get("type")
  if not task_type:
    raise ValueError("TF_CONFIG['task']['type'] must name a job of "
                     "TF_CONFIG['cluster'], got %r" % (task_type,))
  if task.get("index") is None:
    raise ValueError("TF_CONFIG['task']['index'] must be set with "
                     "TF_CONFIG['cluster'], got None")
  task_id = _integer(task["index"], "TF_CONFIG['task']['index']")
  if task_id < 0:
    raise ValueError(
        "TF_CONFIG['task']['index'] must be >= 0, got %d" % task_id)
  if task_type == TaskType.EVALUATOR:
    return task_type, task_id

  if task_type not in list(cluster):  # A list, for a type without a hash.
    raise ValueError("TF_CONFIG['task']['type'] must be 'evaluator' or a job "
                     "of the cluster %s, got %r" %
                     (_describe(cluster), task_type))
  length, _ = _layout(cluster, task_type)
  if task_id >= length:
    raise ValueError("TF_CONFIG['task']['index'] must be below %d for %r in "
                     "the cluster %s, got %d" %
                     (length, task_type, _describe(cluster), task_id))
  return task_type, task_id


def _master(tf_config, cluster, task_type, task_id):
  """Returns the address of this task's session."""
  if "session_master" in tf_config:
    return tf_config["session_master"]
  length, addresses = _layout(cluster, task_type)
  if len(cluster) == 1 and length == 1:
    return ""  # Alone: TensorFlow's own process, without a server between.
  if task_id not in addresses:
    raise TypeError("TF_CONFIG['cluster'][%r][%d] must be the address of this "
                    "task, got none" % (task_type, task_id))
  return "grpc://" + addresses[task_id]


def _global_id(cluster, chief, task_type, task_id):
  """Numbers this task: the chief, other jobs by name, parameter servers."""
  first = 0
  for job in sorted(
      cluster, key=lambda job: (job != chief, job == TaskType.PS, job)):
    if job == task_type:
      return first + task_id
    first += _layout(cluster, job)[0]
  raise AssertionError(task_type)  # _type_and_id() has looked.


def _argument_names(fn):
  """Returns the names of the positional arguments that `fn` takes."""
  if isinstance(fn, functools.partial):
    names = _argument_names(fn.func)[len(fn.args):]
    return [name for name in names if name not in fn.keywords]
  if inspect.ismethod(getattr(fn, "__call__", None)):
    fn = fn.__call__
  names = inspect.getfullargspec(fn).args
  return names[1:] if inspect.ismethod(fn) else names


def _is_device_fn(value):
  """Says whether `value` takes one argument, `op`."""
  return callable(value) and set(_argument_names(value)) == {"op"}


def _is_config_proto(value):
  """Says, without TensorFlow, whether `value` is a `ConfigProto`."""
  descriptor = getattr(type(value), "DESCRIPTOR", None)
  return getattr(descriptor, "full_name", None) == "tensorflow.ConfigProto"


# (name of a setting, what must hold unless it is None, the same in words)
_CHECKS = (
    ("model_dir", bool, "not empty"),
    ("save_summary_steps", lambda steps: steps >= 0, "a number >= 0"),
    ("save_checkpoints_steps", lambda steps: steps >= 0, "a number >= 0"),
    ("save_checkpoints_secs", lambda secs: secs >= 0, "a number >= 0"),
    ("session_config", _is_config_proto, "a tf.compat.v1.ConfigProto"),
    ("keep_checkpoint_max", lambda number: number >= 0, "a number >= 0"),
    ("keep_checkpoint_every_n_hours", lambda hours: hours > 0, "a number > 0"),
    ("log_step_count_steps", lambda steps: steps > 0, "a number > 0"),
    ("tf_random_seed", lambda seed: isinstance(seed, int), "an integer"),
    ("session_creation_timeout_secs", lambda secs: secs > 0, "a number > 0"),
    ("device_fn", _is_device_fn, "a callable with one argument, 'op'"),
    ("protocol", lambda protocol: protocol in ("grpc", "grpc+verbs"),
     "'grpc' or 'grpc+verbs'"),
)


def _check(settings):
  """Raises a `TypeError` or `ValueError` for the first bad setting."""
  for name, holds, expected in _CHECKS:
    value = settings[name]
    if value is None:
      continue
    message = "%s must be %s or None, got %r" % (name, expected, value)
    try:
      good = holds(value)
    except TypeError:
      raise TypeError(message) from None
    if not good:
      raise ValueError(message)


def _check_one_checkpoint_pace(steps, secs):
  """Raises if checkpoints are asked for both by steps and by seconds."""
  if steps is not None and secs is not None:
    raise ValueError("only one of save_checkpoints_steps and "
                     "save_checkpoints_secs must be set, got %r and %r" %
                     (steps, secs))


def _fact(name, doc):
  """Returns a read-only property: a field of the `_Task`."""
  return property(operator.attrgetter("_task." + name), doc=doc)


def _setting(name, doc):
  """Returns a read-only property: an argument of the constructor."""
  return property(lambda self: self._settings[name], doc=doc)


_UNSET = object()


class RunConfig(object):
  """One task, its cluster and its run, as `tf.estimator.RunConfig` has them.

  The cluster comes from the environment variable `TF_CONFIG`, read once, by the
  constructor. It holds a JSON object:

    {"cluster": {"chief": ["host0:2222"],
                 "worker": ["host1:2222", "host2:2222"],
                 "ps": ["host3:2222"]},
     "task": {"type": "worker", "index": 1}}

  Without a cluster the run is local and its one task is the chief.
  """

  def __init__(self,
               model_dir=None,
               tf_random_seed=None,
               save_summary_steps=100,
               save_checkpoints_steps=_UNSET,
               save_checkpoints_secs=_UNSET,
               session_config=None,
               keep_checkpoint_max=5,
               keep_checkpoint_every_n_hours=10000,
               log_step_count_steps=100,
               *,
               device_fn=None,
               protocol=None,
               session_creation_timeout_secs=7200):
    """Describes the run of this task.

    Arguments after `log_step_count_steps` go by name: `tf.estimator.RunConfig`
    has one of `tf.distribute` between them.

    Args:
      model_dir: Folder of checkpoints and summaries, a string or a `PathLike`.
        `None`: `TF_CONFIG["model_dir"]`, if any.
      tf_random_seed: Integer seed of the graph, or `None`.
      save_summary_steps: Steps between summaries, or `None`.
      save_checkpoints_steps: Steps between checkpoints, or `None`. Not together
        with `save_checkpoints_secs`.
      save_checkpoints_secs: Seconds between checkpoints, or `None`. 600 if
        neither is given; no checkpoints if both are `None`.
      session_config: A `tf.compat.v1.ConfigProto`. `None`: in a cluster, one
        under which a task sees its parameter servers but no other worker.
      keep_checkpoint_max: How many of the latest checkpoints to keep; all of
        them if 0 or `None`.
      keep_checkpoint_every_n_hours: Hours between checkpoints to keep for good.
      log_step_count_steps: Steps between logs of the loss and of steps per
        second, or `None`.
      device_fn: A function from an operation, its argument `op`, to a device.
      protocol: "grpc", "grpc+verbs" or `None`, which means "grpc".
      session_creation_timeout_secs: Seconds to wait for a session.

    Raises:
      AttributeError: If `TF_CONFIG`, or its "task", is not an object.
      IndexError: If a negative task index of "cluster" leads nowhere.
      OverflowError: If the index of the task is infinite.
      TypeError: If an argument, or a part of `TF_CONFIG`, has a wrong type.
      ValueError: If one has a wrong value.
    """
    if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
      save_checkpoints_secs = 600
    if save_checkpoints_steps is _UNSET:
      save_checkpoints_steps = None
    if save_checkpoints_secs is _UNSET:
      save_checkpoints_secs = None
    _check_one_checkpoint_pace(save_checkpoints_steps, save_checkpoints_secs)

    tf_config = _parse(os.environ.get("TF_CONFIG", "{}"))
    self._settings = {
        "model_dir": _model_dir(tf_config, _path_to_str(model_dir)),
        "tf_random_seed": tf_random_seed,
        "save_summary_steps": save_summary_steps,
        "save_checkpoints_steps": save_checkpoints_steps,
        "save_checkpoints_secs": save_checkpoints_secs,
        "session_config": session_config,
        "keep_checkpoint_max": keep_checkpoint_max,
        "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
        "log_step_count_steps": log_step_count_steps,
        "device_fn": device_fn,
        "protocol": protocol,
        "session_creation_timeout_secs": session_creation_timeout_secs,
    }
    _check(self._settings)
    self._task = _task(tf_config)
    self._has_default_session_config = session_config is None
    self._cluster_spec = None

  task_type = _fact("task_type", "The job of this task, see `TaskType`.")
  task_id = _fact("task_id", "The index of this task within its job.")
  is_chief = _fact("is_chief", "Whether this task is the chief (or master).")
  num_worker_replicas = _fact(
      "num_worker_replicas",
      "How many tasks train: the chief and the workers; 0 for an evaluator.")
  num_ps_replicas = _fact(
      "num_ps_replicas", "How many parameter servers; 0 for an evaluator.")
  global_id_in_cluster = _fact(
      "global_id_in_cluster",
      "A number unique to this task, 0 for the chief, parameter servers last; "
      "`None` for an evaluator.")
  master = _fact("master", 'The address of the session, "" for this process.')
  evaluation_master = _fact(
      "evaluation_master", "The address of the session that evaluates.")
  service = _fact("service", '`TF_CONFIG["service"]`, a dict or `None`.')

  model_dir = _setting("model_dir", "Folder of checkpoints, or `None`.")
  tf_random_seed = _setting("tf_random_seed", "Seed of the graph, or `None`.")
  save_summary_steps = _setting(
      "save_summary_steps", "Steps between summaries.")
  save_checkpoints_steps = _setting(
      "save_checkpoints_steps", "Steps between checkpoints, or `None`.")
  save_checkpoints_secs = _setting(
      "save_checkpoints_secs", "Seconds between checkpoints, or `None`.")
  keep_checkpoint_max = _setting(
      "keep_checkpoint_max", "How many of the latest checkpoints to keep.")
  keep_checkpoint_every_n_hours = _setting(
      "keep_checkpoint_every_n_hours",
      "Hours between checkpoints to keep for good.")
  log_step_count_steps = _setting("log_step_count_steps", "Steps between logs.")
  device_fn = _setting("device_fn", "From an operation to its device.")
  protocol = _setting("protocol", "Protocol of the server, or `None`.")
  session_creation_timeout_secs = _setting(
      "session_creation_timeout_secs", "Seconds to wait for a session.")

  @property
  def cluster_spec(self):
    """The `tf.train.ClusterSpec`; empty for a local run or an evaluator."""
    if self._cluster_spec is None:
      self._cluster_spec = _tensorflow.v1.train.ClusterSpec(self._task.cluster)
    return self._cluster_spec

  @property
  def session_config(self):
    """The `tf.compat.v1.ConfigProto` of the session, or `None`."""
    if self._has_default_session_config:
      self._settings["session_config"] = self._default_session_config()
      self._has_default_session_config = False
    return self._settings["session_config"]

  def _default_session_config(self):
    """Returns what suits a task of a cluster, or `None` for another."""
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", "/job:worker/task:%d" % self.task_id],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }.get(self.task_type)
    if not self._task.cluster or filters is None:
      return None
    config = _tensorflow.v1.ConfigProto(
        allow_soft_placement=True, device_filters=filters)
    options = config.graph_options.rewrite_options
    options.meta_optimizer_iterations = type(options).ONE
    return config

  def replace(self, **kwargs):
    """Returns a copy with some arguments of the constructor replaced.

    Of `save_checkpoints_steps` and `save_checkpoints_secs`, the one given
    silences the other. `TF_CONFIG` is not read again.

    Args:
      **kwargs: Arguments of the constructor.

    Returns:
      A new object of the same class.

    Raises:
      TypeError: If a value has a wrong type.
      ValueError: If a value is wrong, or a name is not an argument.
    """
    for name in kwargs:
      if name not in self._settings:
        raise ValueError("replace() takes only %s, got %s=%r" %
                         (", ".join(self._settings), name, kwargs[name]))
    steps = kwargs.get("save_checkpoints_steps")
    secs = kwargs.get("save_checkpoints_secs")
    _check_one_checkpoint_pace(steps, secs)

    config = copy.deepcopy(self)
    # pylint: disable=protected-access
    if steps is not None:
      config._settings["save_checkpoints_secs"] = None
    if secs is not None:
      config._settings["save_checkpoints_steps"] = None
    config._settings.update(kwargs)
    config._settings["model_dir"] = _path_to_str(config.model_dir)
    _check(config._settings)
    if "session_config" in kwargs:
      config._has_default_session_config = False
    return config

  def __getstate__(self):
    """Leaves the `ClusterSpec` out: unpickling would need TensorFlow."""
    return dict(self.__dict__, _cluster_spec=None)

  def __repr__(self):
    facts = ("task_type", "task_id", "is_chief", "num_worker_replicas",
             "num_ps_replicas", "global_id_in_cluster", "master", "model_dir")
    return "%s(%s, cluster=%s)" % (
        type(self).__name__,
        ", ".join("%s=%r" % (name, getattr(self, name)) for name in facts),
        _describe(self._task.cluster))


def _path_to_str(path):
  """Returns a `PathLike` as a string and anything else as it is."""
  if not hasattr(path, "__fspath__"):
    return path
  path = path.__fspath__()
  return path.decode("utf-8") if isinstance(path, bytes) else str(path)
