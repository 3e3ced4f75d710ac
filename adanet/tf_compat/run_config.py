# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A `RunConfig` for every TensorFlow: one task, its cluster and its run.

`tf.estimator.RunConfig` is gone since TensorFlow 2.16. This one describes a
run with the same attributes and reads the environment variable `TF_CONFIG` as
TensorFlow 2.15 does: the same values for a good one, the same type of exception
for a bad one. Or it takes the cluster from a resolver of `tf.distribute`.
Source: tensorflow_estimator 2.15, `estimator/run_config.py`.

A `RunConfig` is made without TensorFlow; `cluster_spec` and a default
`session_config` are built when they are first read, and those two need it.
"""

import copy
import functools
import inspect
import json
import operator
import os

from adanet.tf_compat import _task
from adanet.tf_compat import _tensorflow

TaskType = _task.TaskType


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
  constructor, or from a resolver: see `from_cluster_resolver`. The variable
  holds a JSON object::

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
               session_creation_timeout_secs=7200,
               _make_task=None):
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

    # An argument of the class methods alone, which read no environment.
    tf_config = {} if _make_task else _parse(os.environ.get("TF_CONFIG", "{}"))
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
    self._task = (
        _make_task() if _make_task else _task.from_tf_config(tf_config))
    self._has_default_session_config = session_config is None
    self._cluster_spec = None

  @classmethod
  def from_cluster_resolver(cls, resolver, **kwargs):
    """Describes the run of this task in the cluster that a resolver finds.

    The result equals what `TF_CONFIG` with the same cluster and task would
    give, but for three things. In a cluster without a chief, which is an error
    in `TF_CONFIG`, worker 0 is the chief, as everywhere in `tf.distribute`. The
    workers come right after the chief in `global_id_in_cluster`, also where a
    job such as "evaluator" comes between them by its name. And the address in
    `master` begins with the resolver's `rpc_layer`, if it has one.

    `TF_CONFIG` is not read here. A `TFConfigClusterResolver` reads it, and of
    its members "cluster", "task" and "rpc_layer" only.

    The resolver is asked now and not again: a later change of the cluster is
    seen by a new `RunConfig` only.

    Args:
      resolver: A `tf.distribute.cluster_resolver.ClusterResolver`. Where it has
        a cluster, its `task_type` and `task_id` must be this process's own.
        `KubernetesClusterResolver` leaves them unset; `GCEClusterResolver` and
        `TPUClusterResolver` say task 0 in every process until told otherwise.
      **kwargs: Arguments of the constructor.

    Returns:
      A new object of this class.

    Raises:
      IndexError: If a negative task index of the cluster leads nowhere.
      TypeError: If `resolver` is not one, or a part of it or an argument has a
        wrong type.
      ValueError: If a part of it or an argument has a wrong value.
      Exception: What the resolver raises.
    """
    return cls(
        _make_task=functools.partial(_task.from_cluster_resolver, resolver),
        **kwargs)

  @classmethod
  def for_chief(cls, tf_config, **kwargs):
    """Describes the run of the chief in the cluster that `TF_CONFIG` describes.

    For a program that is no task of the cluster, and wants to know its shape:
    the result equals what `TF_CONFIG` in the environment of the chief gives.
    Only "cluster" is looked at, so "task" may name any task, or be missing.

    Args:
      tf_config: The parsed value of a `TF_CONFIG`, a dict with a "cluster". The
        environment is not read.
      **kwargs: Arguments of the constructor.

    Returns:
      A new object of this class.

    Raises:
      AttributeError: If `tf_config` is not a dict.
      IndexError: If a negative task index of "cluster" leads nowhere.
      TypeError: If an argument, or a part of "cluster", has a wrong type.
      ValueError: If one has a wrong value, or there is no cluster or no chief.
    """
    return cls(
        _make_task=functools.partial(_task.for_chief, tf_config), **kwargs)

  task_type = _fact("task_type", "The job of this task, see `TaskType`.")
  task_id = _fact("task_id", "The index of this task within its job.")
  is_chief = _fact(
      "is_chief",
      "Whether this task is the chief, the master or, failing both, worker 0.")
  num_worker_replicas = _fact(
      "num_worker_replicas",
      "How many tasks train, the chief and the workers; 0 for an evaluator.")
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
      self._cluster_spec = _tensorflow.v1.train.ClusterSpec(
          self._task.cluster.jobs)
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
    if not self._task.cluster.jobs or filters is None:
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
        self._task.cluster)


def _path_to_str(path):
  """Returns a `PathLike` as a string and anything else as it is."""
  if not hasattr(path, "__fspath__"):
    return path
  path = path.__fspath__()
  return path.decode("utf-8") if isinstance(path, bytes) else str(path)
