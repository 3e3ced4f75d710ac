# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A `RunConfig` for all versions of TensorFlow: a task, a cluster and a run.

TensorFlow 2.16 removed `tf.estimator.RunConfig`. The `RunConfig` here has the
same attributes. The cluster is from the environment variable `TF_CONFIG`, with
the same values and types of exceptions as in TensorFlow 2.15, or from a
resolver of `tf.distribute`. Source: tensorflow_estimator 2.15,
`estimator/run_config.py`.

Making a `RunConfig` does not load TensorFlow. The first read of `cluster_spec`
or of a default `session_config` does.
"""

import copy
import functools
import inspect
import numbers
import operator
import os
from typing import (Any, Callable, Dict, Optional, Sequence, Type, TypeVar,
                    Union)

from adanet.tf_compat import _task
from adanet.tf_compat import _tensorflow

TaskType = _task.TaskType

_T = TypeVar("_T", bound="RunConfig")
_DeviceFn = Callable[[Any], str]
_Path = Union[str, "os.PathLike[str]"]


def _path_to_str(path):
  """Returns a `PathLike` as a string and any other value unchanged."""
  return os.fsdecode(path) if hasattr(path, "__fspath__") else path


def _is_device_fn(value):
  """Returns whether `value` takes one positional argument, `op`."""
  if not callable(value):
    return False
  try:
    parameters = inspect.signature(value).parameters.values()
  except ValueError:  # Some builtins have no signature.
    return False
  return ["op"] == [
      p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]


def default_session_config(device_filters: Sequence[str] = ()) -> Any:
  """Returns a new `ConfigProto` with the defaults of `tf.estimator`.

  Ops run on the CPU if the requested device does not exist. TensorFlow
  optimizes the graph once before the first run, rather than twice as by
  default, because most graphs of a search run only a few times. For example::

      session_config = tf_compat.default_session_config()
      session_config.gpu_options.allow_growth = True

  Args:
    device_filters: the devices that the session may use; empty for all devices.
  """
  config = _tensorflow.v1.ConfigProto(
      allow_soft_placement=True, device_filters=device_filters)
  options = config.graph_options.rewrite_options
  options.meta_optimizer_iterations = type(options).ONE
  return config


def _is_config_proto(value):
  """Returns, without TensorFlow, whether `value` is a `ConfigProto`."""
  descriptor = getattr(type(value), "DESCRIPTOR", None)
  return getattr(descriptor, "full_name", None) == "tensorflow.ConfigProto"


def _number(value):
  """Returns a number; raises a `TypeError` for any other value and a bool."""
  if not isinstance(value, numbers.Real) or isinstance(value, bool):
    raise TypeError(value)
  return value


def _is_integer(value):
  return isinstance(value, numbers.Integral) and not isinstance(value, bool)


# (argument, the condition unless it is None, the same in words)
_CHECKS = (
    ("model_dir", bool, "a non-empty path"),
    ("save_summary_steps", lambda steps: _number(steps) >= 0, "a number >= 0"),
    ("save_checkpoints_steps", lambda steps: _number(steps) >= 0,
     "a number >= 0"),
    ("save_checkpoints_secs", lambda secs: _number(secs) >= 0, "a number >= 0"),
    ("session_config", _is_config_proto, "a tf.compat.v1.ConfigProto"),
    ("keep_checkpoint_max", lambda number: _number(number) >= 0,
     "a number >= 0"),
    ("keep_checkpoint_every_n_hours", lambda hours: _number(hours) > 0,
     "a number > 0"),
    ("log_step_count_steps", lambda steps: _number(steps) > 0, "a number > 0"),
    ("tf_random_seed", _is_integer, "an integer"),
    ("session_creation_timeout_secs", lambda secs: _number(secs) > 0,
     "a number > 0"),
    ("device_fn", _is_device_fn, "a callable with one argument, 'op'"),
    ("rereads_input", lambda value: isinstance(value, bool), "True or False"),
    ("protocol", lambda protocol: protocol in ("grpc", "grpc+verbs"),
     "'grpc' or 'grpc+verbs'"),
)


def _check(settings):
  """Checks settings, in which NumPy's integers become those of Python.

  Raises:
    TypeError, ValueError: the first wrong argument.
  """
  for name, holds, expected in _CHECKS:
    value = settings[name]
    if value is None:
      continue
    message = f"{name} must be {expected} or None, got {value!r}"
    try:
      is_good = holds(value)
    except TypeError:
      raise TypeError(message) from None
    if not is_good:
      raise ValueError(message)
    if _is_integer(value):
      settings[name] = int(value)
  steps = settings["save_checkpoints_steps"]
  secs = settings["save_checkpoints_secs"]
  if steps is not None and secs is not None:
    raise ValueError("only one of save_checkpoints_steps and "
                     "save_checkpoints_secs must be set, got %r and %r" %
                     (steps, secs))


# Both functions return a read-only property, whose type the class declares.


def _task_attribute(name: str, doc: str) -> Any:
  return property(operator.attrgetter("_task." + name), doc=doc)


def _argument(name: str) -> Any:
  return property(lambda self: self._settings[name],
                  doc=f"The argument `{name}`.")


_UNSET: Any = object()


class RunConfig:
  """A task, the cluster and the run, as in `tf.estimator.RunConfig`.

  For example::

    config = adanet.tf_compat.RunConfig(
        model_dir="digits", tf_random_seed=1, save_checkpoints_steps=1000)
    estimator = adanet.Estimator(
        head, generator, max_iteration_steps=1000, config=config)

  The constructor reads the cluster once from the environment variable
  `TF_CONFIG`. `from_cluster_resolver` gets the cluster from a resolver. The
  variable holds a JSON object::

    {"cluster": {"chief": ["host0:2222"],
                 "worker": ["host1:2222", "host2:2222"],
                 "ps": ["host3:2222"]},
     "task": {"type": "worker", "index": 1}}

  Without a cluster, the run is local and the only task is the chief.
  """

  def __init__(self,
               model_dir: Optional[_Path] = None,
               tf_random_seed: Optional[int] = None,
               save_summary_steps: Optional[int] = 100,
               save_checkpoints_steps: Optional[int] = _UNSET,
               save_checkpoints_secs: Optional[float] = _UNSET,
               session_config: Any = None,
               keep_checkpoint_max: Optional[int] = 5,
               keep_checkpoint_every_n_hours: Optional[float] = 10000,
               log_step_count_steps: Optional[int] = 100,
               *,
               device_fn: Optional[_DeviceFn] = None,
               protocol: Optional[str] = None,
               session_creation_timeout_secs: Optional[float] = 7200,
               rereads_input: bool = True,
               _make_task: Optional[Callable[[], _task.TaskInCluster]] = None
              ) -> None:
    """Describes the run of this task.

    Pass the arguments after `log_step_count_steps` by name, because
    `tf.estimator.RunConfig` has another argument in this position.

    Args:
      model_dir: Folder of checkpoints and summaries, a string or a `PathLike`.
        `None`: `TF_CONFIG["model_dir"]`, if any.
      tf_random_seed: Integer seed of the graph, or `None`.
      save_summary_steps: Steps between summaries, or `None`.
      save_checkpoints_steps: Steps between checkpoints, or `None`. Excludes
        `save_checkpoints_secs`.
      save_checkpoints_secs: Seconds between checkpoints, or `None`. 600 if
        neither argument is given; no checkpoints if both are `None`.
      session_config: A `tf.compat.v1.ConfigProto`. `None` for
        `default_session_config()`; in a cluster, with device filters that show
        a task the parameter servers but no other worker.
      keep_checkpoint_max: How many of the latest checkpoints to keep; 0 or
        `None` for all.
      keep_checkpoint_every_n_hours: Hours between checkpoints to keep forever.
      log_step_count_steps: Steps between logs of the loss and of steps per
        second, or `None`.
      device_fn: A function from an operation, the argument `op`, to a device.
      protocol: "grpc", "grpc+verbs" or `None` for "grpc".
      session_creation_timeout_secs: Seconds to wait for a session.
      rereads_input: Whether resumed training reads and skips the batches from
        before the interruption, so that the result equals uninterrupted
        training if all shuffling has a seed. Inputs of `adanet.inputs` skip
        without reading. `False` restarts the input, for inputs that are slow to
        read. `tf.estimator` always restarts the input.

    Raises:
      AttributeError: If `TF_CONFIG` or its "task" is not an object.
      TypeError: If an argument or a part of `TF_CONFIG` has a wrong type.
      ValueError: If an argument or a part of `TF_CONFIG` has a wrong value.
    """
    if save_checkpoints_secs is _UNSET:
      save_checkpoints_secs = 600 if save_checkpoints_steps is _UNSET else None
    if save_checkpoints_steps is _UNSET:
      save_checkpoints_steps = None

    # With _make_task, which only the class methods pass, TF_CONFIG is not read.
    tf_config = {} if _make_task else _task.read_tf_config()
    self._settings = {
        "model_dir": _task.model_dir_of(
            tf_config, _path_to_str(model_dir)),
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
        "rereads_input": rereads_input,
    }
    _check(self._settings)
    self._task = (
        _make_task() if _make_task else _task.from_tf_config(tf_config))
    self._has_default_session_config = session_config is None
    self._cluster_spec = None

  @classmethod
  def from_cluster_resolver(cls: Type[_T], resolver: Any, **kwargs: Any) -> _T:
    """Describes the run of this task in the cluster of a resolver.

    The resolver is read once, and `TF_CONFIG` is not read. The result equals
    the result for a `TF_CONFIG` with the same cluster and task, with three
    differences:

    * In a cluster without a chief, worker 0 is the chief, as everywhere in
      `tf.distribute`. In `TF_CONFIG`, a cluster without a chief is an error.
    * `global_id_in_cluster` numbers the workers directly after the chief,
      before the tasks of all other jobs.
    * `master` starts with the `rpc_layer` of the resolver, if any.

    Args:
      resolver: A `tf.distribute.cluster_resolver.ClusterResolver`. With a
        cluster, `task_type` and `task_id` of the resolver must describe this
        process: set both on a `KubernetesClusterResolver`, which has no
        defaults, and on a `GCEClusterResolver` or `TPUClusterResolver`, whose
        default is task 0.
      **kwargs: Arguments of the constructor.

    Raises:
      TypeError: If `resolver` is no resolver, or a part of `resolver` or an
        argument has a wrong type.
      ValueError: If a part of `resolver` or an argument has a wrong value.
      Exception: An error of the resolver.
    """
    return cls(
        _make_task=functools.partial(_task.from_cluster_resolver, resolver),
        **kwargs)

  @classmethod
  def for_chief(cls: Type[_T], tf_config: Dict[str, Any], **kwargs: Any) -> _T:
    """Describes the run of the chief in the cluster of a `TF_CONFIG`.

    For programs outside the cluster that need the shape of the cluster. The
    environment is not read.

    Args:
      tf_config: The parsed value of a `TF_CONFIG`, with at least "cluster".
      **kwargs: Arguments of the constructor.

    Raises:
      AttributeError: If `tf_config` is not a dict.
      TypeError: If an argument or a part of "cluster" has a wrong type.
      ValueError: If an argument or a part of "cluster" has a wrong value, or
        the cluster or the chief is missing.
    """
    _task.as_object(tf_config, "TF_CONFIG")
    return cls(
        _make_task=functools.partial(_task.for_chief, tf_config), **kwargs)

  task_type: str = _task_attribute(
      "task_type", "The job of this task, see `TaskType`.")
  task_id: int = _task_attribute(
      "task_id", "The index of this task within its job.")
  is_chief: bool = _task_attribute(
      "is_chief",
      "Whether this task is task 0 of the chief's job: the chief, the master, "
      "or worker 0 of a resolver's cluster that has neither.")
  num_worker_replicas: int = _task_attribute(
      "num_worker_replicas",
      "The number of chief and worker tasks; 0 for an evaluator.")
  num_ps_replicas: int = _task_attribute(
      "num_ps_replicas", "The number of parameter servers; 0 for an evaluator.")
  global_id_in_cluster: Optional[int] = _task_attribute(
      "global_id_in_cluster",
      "A number unique to this task, 0 for the chief, parameter servers last; "
      "`None` for an evaluator.")
  master: str = _task_attribute(
      "master", 'The address of the session; "" for this process.')
  evaluation_master: str = _task_attribute(
      "evaluation_master", "The address of the session that evaluates.")
  service: Optional[dict] = _task_attribute(
      "service", '`TF_CONFIG["service"]`, a dict or `None`.')

  model_dir: Optional[str] = _argument("model_dir")
  tf_random_seed: Optional[int] = _argument("tf_random_seed")
  save_summary_steps: Optional[int] = _argument("save_summary_steps")
  save_checkpoints_steps: Optional[int] = _argument("save_checkpoints_steps")
  save_checkpoints_secs: Optional[float] = _argument("save_checkpoints_secs")
  keep_checkpoint_max: Optional[int] = _argument("keep_checkpoint_max")
  keep_checkpoint_every_n_hours: Optional[float] = _argument(
      "keep_checkpoint_every_n_hours")
  log_step_count_steps: Optional[int] = _argument("log_step_count_steps")
  device_fn: Optional[_DeviceFn] = _argument("device_fn")
  protocol: Optional[str] = _argument("protocol")
  session_creation_timeout_secs: Optional[float] = _argument(
      "session_creation_timeout_secs")
  rereads_input: bool = _argument("rereads_input")

  @property
  def cluster_spec(self) -> Any:
    """The `tf.train.ClusterSpec`; empty for a local run or an evaluator."""
    if self._cluster_spec is None:
      self._cluster_spec = _tensorflow.v1.train.ClusterSpec(self._task.jobs)
    return self._cluster_spec

  @property
  def session_config(self) -> Any:
    """The `tf.compat.v1.ConfigProto` of the session, or `None`."""
    if self._has_default_session_config:
      self._settings["session_config"] = self._default_session_config()
      self._has_default_session_config = False
    return self._settings["session_config"]

  def _default_session_config(self):
    """Returns the default for a task of a cluster; else `None`."""
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", "/job:worker/task:%d" % self.task_id],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }.get(self.task_type)
    if not self._task.jobs or filters is None:
      return None
    return default_session_config(filters)

  def replace(self: _T, **kwargs: Any) -> _T:
    """Returns a copy with some arguments of the constructor replaced.

    `save_checkpoints_steps` sets `save_checkpoints_secs` to `None` and vice
    versa. `TF_CONFIG` is not read again.

    Raises:
      TypeError: If an argument has a wrong type.
      ValueError: If an argument has a wrong value or an unknown name.
    """
    for name in kwargs:
      if name not in self._settings:
        raise ValueError("replace() takes only %s, got %s=%r" %
                         (", ".join(self._settings), name, kwargs[name]))

    config = copy.deepcopy(self)
    settings = vars(config)["_settings"]
    for name, other_name in (
        ("save_checkpoints_steps", "save_checkpoints_secs"),
        ("save_checkpoints_secs", "save_checkpoints_steps")):
      if kwargs.get(name) is not None:
        settings[other_name] = None
    settings.update(kwargs)
    settings["model_dir"] = _path_to_str(settings["model_dir"])
    _check(settings)
    if "session_config" in kwargs:
      vars(config)["_has_default_session_config"] = False
    return config

  def __getstate__(self) -> dict:
    """Omits the `ClusterSpec`, which would need TensorFlow for unpickling."""
    return dict(self.__dict__, _cluster_spec=None)

  def __repr__(self) -> str:
    names = ("task_type", "task_id", "is_chief", "num_worker_replicas",
             "num_ps_replicas", "global_id_in_cluster", "master", "model_dir")
    return "{}({}, cluster={!r})".format(
        type(self).__name__,
        ", ".join(f"{name}={getattr(self, name)!r}" for name in names),
        _task.sizes(self._task.jobs))


def estimator_run_config(config: Any) -> Any:
  """Returns a RunConfig that an estimator of `tf.estimator` takes.

  Args:
    config: `RunConfig` or `tf.estimator.RunConfig`.

  Returns:
    A `tf.estimator.RunConfig` with the same values, of which the cluster comes
    from `TF_CONFIG`. TensorFlow 2.16 and later have none: then `config`.
  """
  estimator = getattr(_tensorflow.v1, "estimator", None)
  run_config = getattr(estimator, "RunConfig", None)
  if run_config is None or isinstance(config, run_config):
    return config
  return run_config(**{
      name: getattr(config, name)
      for name in inspect.signature(run_config.__init__).parameters
      if name != "self" and hasattr(config, name)})
