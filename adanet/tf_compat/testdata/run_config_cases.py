# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The cases in which `RunConfig` must equal `tf.estimator.RunConfig`.

They are valid values of `TF_CONFIG`, the usual mistakes, and arguments. Run as
a program, this prints the result of `tf.estimator` for each case. The tests
compare with that where TensorFlow has no `tf.estimator`:

  bazel run --config=tf2_15 //adanet/tf_compat:run_config_cases \
      > adanet/tf_compat/testdata/estimator_run_config.json
"""

import itertools
import json
import os
from typing import NamedTuple, Optional
from unittest import mock

from google.protobuf import json_format
import tensorflow.compat.v1 as tf

from adanet.tf_compat import run_config


class Case(NamedTuple):
  """One way to make a `RunConfig`."""
  tf_config: Optional[str]  # Text of the variable, None if unset.
  kwargs: dict = {}  # Arguments of the constructor.

  @property
  def name(self):
    kwargs = ", ".join("%s=%r" % item for item in sorted(self.kwargs.items()))
    return f"{self.tf_config} RunConfig({kwargs})"


FULL_CLUSTER = {"worker": ["w:1", "w:2"], "ps": ["p:1", "p:2", "p:3"],
                "chief": ["c:1"]}

CLUSTERS = (
    {},
    {"chief": ["c:1"]},
    {"chief": ["c:1"], "worker": ["w:1", "w:2", "w:3"]},
    {"chief": ["c:1"], "ps": ["p:1", "p:2"]},
    FULL_CLUSTER,
    {"chief": ["c:1"], "worker": ["w:%d" % i for i in range(12)],
     "ps": ["p:%d" % i for i in range(11)]},
    {"chief": ["c:1"], "worker": ["w:1"], "evaluator": ["e:1"]},
    {"chief": ["c:1"], "foo": ["f:1", "f:2"], "worker": ["w:1", "w:2"],
     "zoo": ["z:1"], "ps": ["p:1"]},
    {"master": ["m:1"]},
    {"master": ["m:1"], "worker": ["w:1", "w:2"], "ps": ["p:1", "p:2"],
     "foo": ["f:1"]},
    # No chief, or two.
    {"worker": ["w:1", "w:2"], "ps": ["p:1"]},
    {"ps": ["p:1"]},
    {"chief": ["c:1", "c:2"], "worker": ["w:1"]},
    {"master": ["m:1", "m:2"], "worker": ["w:1"]},
    {"chief": ["c:1"], "master": ["m:1"]},
    # Empty jobs.
    {"chief": [], "worker": ["w:1"]},
    {"chief": ["c:1"], "worker": [], "ps": ["p:1"]},
    {"chief": ["c:1"], "worker": ["w:1"], "ps": []},
)

TASKS = (
    {}, {"type": "worker"}, {"index": 0}, {"type": "worker", "index": -1},
    {"type": "worker", "index": "1"}) + tuple(
        {"type": job, "index": index} for job, index in (
            ("chief", 0), ("chief", 1), ("master", 0), ("master", 1),
            ("worker", 0), ("worker", 1), ("worker", 2), ("worker", 11),
            ("ps", 0), ("ps", 2), ("evaluator", 0), ("evaluator", 5),
            ("foo", 0), ("zoo", 0)))

# Clusters that give the indices of their tasks, and tasks of them.
SPARSE = (
    ({"chief": {0: "c:1"}}, (("chief", 0), ("chief", 1))),
    ({"chief": {1: "c:2"}, "worker": ["w:1"]}, (("chief", 1),)),
    ({"chief": ["c:1"], "worker": {1: "w:2", 0: "w:1"}, "ps": {0: "p:1"}},
     (("chief", 0), ("worker", 0), ("worker", 1), ("worker", 2), ("ps", 0))),
    ({"chief": ["c:1"], "worker": {1: "w:2", 7: "w:8"}, "ps": {2: "p:3"}},
     (("chief", 0), ("worker", 1), ("worker", 7), ("worker", 8), ("ps", 2),
      ("evaluator", 0))),
)

_WORKER = {"type": "worker", "index": 1}
_SETTINGS = (  # Three runs that use session masters in three ways.
    {},
    {"cluster": FULL_CLUSTER, "task": _WORKER},
    {"cluster": FULL_CLUSTER, "task": {"type": "evaluator", "index": 0}},
)

_TEXTS = (
    None, "", "{", "{}", " {\n} ", "{'cluster': {}}", '{"cluster": {},}', "[]",
    "1", "null", "true", '"cluster"', "chief", '{"environment": "cloud"}',
)

# Values of a wrong type, for each part of a TF_CONFIG.
_WRONG = {
    "cluster": (None, True, 3, "chief", ["chief"]),
    "job": (None, 1, "w:1", [None], [1], [["w:1"]], [{"0": "w:1"}],
            ["w:1", None], {"0": None}, {"zero": "w:1"}),
    "task": (None, True, 3, "chief", ["chief"]),
    "type": (None, 0, 1, True, ["worker"], {"worker": 0}, "Worker"),
    "index": (None, "one", "", "1.0", [1], {"0": 1}),
    "service": (True, 3, "chief", ["chief"]),
}

ARGUMENTS = tuple(
    {name: value} for name, values in (
        ("model_dir", ("", "/a")),
        ("tf_random_seed", (7, -1, 1.0, "1")),
        ("save_summary_steps", (None, 0, -1, 0.5, "1")),
        ("save_checkpoints_steps", (None, 0, 10, -10, [])),
        ("save_checkpoints_secs", (None, 0, 10, -10, "10")),
        ("session_config", ({}, "grpc", False)),
        ("keep_checkpoint_max", (None, 0, -1, {})),
        ("keep_checkpoint_every_n_hours", (None, 0, 0.1, "day")),
        ("log_step_count_steps", (None, 0, 1, "1")),
        ("device_fn", (None, 3, "/cpu:0")),
        ("protocol", (None, "grpc", "grpc+verbs", "GRPC", 1)),
        ("session_creation_timeout_secs", (None, 0, 1, -1, [])),
    ) for value in values
) + tuple(
    {"save_checkpoints_steps": steps, "save_checkpoints_secs": secs}
    for steps, secs in ((10, 10), (0, 0), (None, 10), (10, None), (None, None)))


def _tf_configs():
  """Yields the values of `TF_CONFIG`."""
  for cluster in CLUSTERS:
    yield {"cluster": cluster}
    for task in TASKS:
      yield {"cluster": cluster, "task": task}
  for cluster, tasks in SPARSE:
    for job, index in tasks:
      yield {"cluster": cluster, "task": {"type": job, "index": index}}

  for value in _WRONG["cluster"]:
    yield {"cluster": value, "task": _WORKER}
  for value in _WRONG["job"]:
    yield {"cluster": {"chief": ["c:1"], "worker": value},
           "task": {"type": "worker", "index": 0}}
  for cluster in ({}, FULL_CLUSTER):
    for value in _WRONG["task"]:
      yield {"cluster": cluster, "task": value}
    for value in _WRONG["type"]:
      yield {"cluster": cluster, "task": {"type": value, "index": 0}}
    for value in _WRONG["index"]:
      yield {"cluster": cluster, "task": {"type": "worker", "index": value}}

  for setting in _SETTINGS:
    for value in (None, {"a": {"b": [1]}}) + _WRONG["service"]:
      yield dict(setting, service=value)
    for master, evaluation_master in itertools.product(
        ("", "grpc://s:1"), ("", "grpc://s:2")):
      yield dict(setting, session_master=master,
                 eval_session_master=evaluation_master)


def cases():
  """Yields every `Case`."""
  for text in _TEXTS:
    yield Case(text)
  for tf_config in _tf_configs():
    yield Case(json.dumps(tf_config))
  for argument, value in itertools.product(
      ("/a", "/b", "", None), ("/a", "", None)):
    yield Case(json.dumps({"model_dir": value}), {"model_dir": argument})
  for kwargs in ARGUMENTS:
    yield Case(None, kwargs)
    yield Case(json.dumps(_SETTINGS[1]), kwargs)


def attributes(config):
  """Returns the attributes that TensorFlow's `RunConfig` has, as JSON."""
  values = {name: getattr(config, name)
            for name, value in vars(run_config.RunConfig).items()
            if isinstance(value, property) and name != "rereads_input"}
  values["cluster_spec"] = config.cluster_spec.as_dict()
  if config.session_config is not None:
    values["session_config"] = json_format.MessageToDict(config.session_config)
  return json.loads(json.dumps(values))


def outcome(make_run_config, case):
  """Returns the attributes of a `RunConfig`, or the exception of making it.

  Args:
    make_run_config: The class `RunConfig` of this project or of TensorFlow.
    case: A `Case`.
  """
  with mock.patch.dict(os.environ):
    os.environ.pop("TF_CONFIG", None)
    if case.tf_config is not None:
      os.environ["TF_CONFIG"] = case.tf_config
    try:
      return attributes(make_run_config(**case.kwargs))
    except Exception as error:  # pylint: disable=broad-except
      return error


def golden_row(result, defaults):
  """Returns a row of the golden file.

  Args:
    result: The return value of `outcome`.
    defaults: `attributes(RunConfig())`.

  Returns:
    The name of the type of an exception, or the attributes that are not the
    defaults.
  """
  if isinstance(result, Exception):
    return type(result).__name__
  return {name: value for name, value in result.items()
          if json.dumps(value) != json.dumps(defaults[name])}


def _golden():
  """Returns the text of the golden file, a case a line."""
  defaults = outcome(tf.estimator.RunConfig, Case(None))
  rows = {"defaults": defaults}
  for case in cases():
    rows[case.name] = golden_row(
        outcome(tf.estimator.RunConfig, case), defaults)
  return "{\n%s\n}" % ",\n".join(
      f"{json.dumps(name)}: {json.dumps(row, sort_keys=True)}"
      for name, row in rows.items())


if __name__ == "__main__":
  print(_golden())
