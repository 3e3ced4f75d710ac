# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The values of `TF_CONFIG` that `RunConfig` is held against `tf.estimator`'s.

What `tf.estimator.RunConfig` makes of each is in
`testdata/estimator_run_config.json`; `make_run_config_golden.py` writes it.
"""

import json
import typing

from google.protobuf import json_format


class Case(typing.NamedTuple):
  """One way to make a `RunConfig`."""
  name: str  # "group/what is special", unique
  tf_config: typing.Optional[str]  # text of the variable, None if unset
  kwargs: dict  # arguments of the constructor


# Stands for a key that is not there.
_ABSENT = object()

_CLUSTERS = {
    "none": _ABSENT,
    "empty": {},
    "chief": {"chief": ["c:1"]},
    "chief_dict": {"chief": {"0": "c:1"}},
    "chief_workers": {"chief": ["c:1"], "worker": ["w:1", "w:2", "w:3"]},
    "chief_ps": {"chief": ["c:1"], "ps": ["p:1", "p:2"]},
    "full": {
        "worker": ["w:1", "w:2"],
        "ps": ["p:1", "p:2", "p:3"],
        "chief": ["c:1"],
    },
    "many": {
        "chief": ["c:1"],
        "worker": ["w:%d" % i for i in range(40)],
        "ps": ["p:%d" % i for i in range(12)],
    },
    "evaluator_in_cluster": {
        "chief": ["c:1"],
        "worker": ["w:1"],
        "evaluator": ["e:1"],
    },
    "unknown_jobs": {
        "chief": ["c:1"],
        "foo": ["f:1", "f:2"],
        "worker": ["w:1", "w:2"],
        "zoo": ["z:1"],
        "ps": ["p:1"],
    },
    "nameless_job": {"chief": ["c:1"], "": ["n:1"], "worker": ["w:1"]},
    "worker": {"worker": ["w:1"]},
    "workers_ps": {"worker": ["w:1", "w:2"], "ps": ["p:1"]},
    "ps": {"ps": ["p:1"]},
    "master": {"master": ["m:1"]},
    "master_full": {
        "master": ["m:1"],
        "worker": ["w:1", "w:2"],
        "ps": ["p:1", "p:2"],
        "foo": ["f:1"],
    },
    "two_chiefs": {"chief": ["c:1", "c:2"], "worker": ["w:1"]},
    "two_masters": {"master": ["m:1", "m:2"], "worker": ["w:1"]},
    "chief_and_master": {"chief": ["c:1"], "master": ["m:1"]},
    "no_chiefs": {"chief": [], "worker": ["w:1"]},
    "no_workers": {"chief": ["c:1"], "worker": [], "ps": ["p:1"]},
    "no_ps": {"chief": ["c:1"], "worker": ["w:1"], "ps": []},
    "no_foos": {"chief": ["c:1"], "foo": [], "worker": ["w:1"]},
    "no_workers_dict": {"chief": ["c:1"], "worker": {}},
    "dense_dict": {
        "chief": ["c:1"],
        "worker": {"1": "w:2", "0": "w:1"},
        "ps": {"0": "p:1"},
    },
    "sparse_dict": {
        "chief": ["c:1"],
        "worker": {"1": "w:2", "7": "w:8"},
        "ps": {"2": "p:3"},
    },
    "sparse_master": {"master": ["m:1"], "worker": {"1": "w:2"}, "ps": []},
    "sparse_chief": {"chief": {"1": "c:2"}, "worker": ["w:1"]},
    "negative_worker": {
        "chief": ["c:1"],
        "worker": {"-1": "w:x", "0": "w:1", "1": "w:2"},
    },
    "negative_chief": {"chief": {"-1": "c:x", "0": "c:1"}, "worker": ["w:1"]},
    "negative_fills_gap": {
        "chief": ["c:1"],
        "worker": {"-2": "w:x", "1": "w:2"},
    },
    "negative_only": {"chief": ["c:1"], "worker": {"-1": "w:x"}},
    "negative_off_the_row": {
        "chief": ["c:1"],
        "worker": {"-3": "w:x", "1": "w:2"},
    },
}

_TASKS = {
    "no_task": _ABSENT,
    "empty_task": {},
    "no_index": {"type": "worker"},
    "no_type": {"index": 0},
    "chief_0": {"type": "chief", "index": 0},
    "chief_1": {"type": "chief", "index": 1},
    "master_0": {"type": "master", "index": 0},
    "master_1": {"type": "master", "index": 1},
    "worker_0": {"type": "worker", "index": 0},
    "worker_1": {"type": "worker", "index": 1},
    "worker_2": {"type": "worker", "index": 2},
    "worker_7": {"type": "worker", "index": 7},
    "ps_0": {"type": "ps", "index": 0},
    "ps_2": {"type": "ps", "index": 2},
    "evaluator_0": {"type": "evaluator", "index": 0},
    "evaluator_5": {"type": "evaluator", "index": 5},
    "foo_0": {"type": "foo", "index": 0},
    "zoo_0": {"type": "zoo", "index": 0},
}

_TYPES = {
    "empty": "",
    "null": None,
    "zero": 0,
    "one": 1,
    "true": True,
    "list": ["worker"],
    "object": {"worker": 0},
    "float": 1.5,
    "capital": "Worker",
    "space": "worker ",
}

_INDICES = {
    "null": None,
    "negative": -1,
    "negative_text": "-1",
    "out_of_range": 1000,
    "huge": 10**30,
    "digits": "1",
    "padded_digits": " 01 ",
    "grouped_digits": "0_1",
    "empty_text": "",
    "text": "one",
    "float_text": "1.0",
    "float": 1.9,
    "negative_fraction": -0.9,
    "true": True,
    "false": False,
    "list": [1],
    "object": {"0": 1},
    "infinity": float("inf"),
    "nan": float("nan"),
}

_WRONG = {
    "null": None,
    "true": True,
    "zero": 0,
    "int": 3,
    "float": 0.5,
    "text": "chief",
    "empty_text": "",
    "list": ["chief"],
    "empty_list": [],
}

_JOBS = {  # What a job holds instead of its addresses.
    "null": None,
    "int": 1,
    "zero": 0,
    "true": True,
    "text": "w:1",
    "empty_text": "",
    "address_null": [None],
    "address_int": [1],
    "address_true": [True],
    "address_list": [["w:1"]],
    "address_object": [{"0": "w:1"}],
    "address_empty": [""],
    "address_unicode": [u"w\u00fc:1"],
    "address_surrogate": [u"\ud800"],
    "second_address_null": ["w:1", None],
    "dict_address_null": {"0": None},
    "dict_address_list": {"0": ["w:1"]},
    "dict_text": {"zero": "w:1"},
    "dict_empty_text": {"": "w:1"},
    "dict_float_text": {"0.0": "w:1"},
    "dict_padded": {" 0 ": "w:1"},
    "dict_same_index": {"0": "w:1", "00": "w:2"},
    "dict_int32": {"100000": "w:1", "0": "w:0"},
    "dict_above_int32": {"2147483648": "w:1"},
    "dict_below_int32": {"-2147483649": "w:1"},
    "dict_huge": {"1" + 30 * "0": "w:1"},
    "dict_huge_and_null": {"2147483648": "w:1", "0": None},
}

_FULL = _CLUSTERS["full"]
_WORKER = {"type": "worker", "index": 1}
_EVALUATOR = {"type": "evaluator", "index": 0}
_SETTINGS = {  # Three runs that use session masters in three ways.
    "local": {},
    "worker": {"cluster": _FULL, "task": _WORKER},
    "evaluator": {"cluster": _FULL, "task": _EVALUATOR},
    "alone": {
        "cluster": {"chief": ["c:1"]},
        "task": {"type": "chief", "index": 0},
    },
    "no_address": {
        "cluster": {"chief": ["c:1"], "worker": {"2": "w:3"}},
        "task": _WORKER,
    },
}

_TEXTS = {
    "unset": None,
    "empty": "",
    "space": " ",
    "object": "{}",
    "object_with_space": " {\n} ",
    "list": "[]",
    "list_of_objects": "[{}]",
    "number": "1",
    "zero": "0",
    "null": "null",
    "true": "true",
    "false": "false",
    "text": '"cluster"',
    "empty_text": '""',
    "nan": "NaN",
    "open": "{",
    "trailing_comma": '{"cluster": {},}',
    "single_quotes": "{'cluster': {}}",
    "two_objects": "{} {}",
    "no_json": "chief",
    "same_key_twice": '{"cluster": {"ps": ["p:1"]}, "cluster": {}}',
    "unknown_key": '{"environment": "cloud", "job": {}, "rpc_layer": "grpc"}',
}

_ARGUMENTS = (
    {},
    {"model_dir": ""},
    {"model_dir": "/a"},
    {"model_dir": 0},
    {"model_dir": 3},
    {"tf_random_seed": 7},
    {"tf_random_seed": -1},
    {"tf_random_seed": True},
    {"tf_random_seed": 1.0},
    {"tf_random_seed": "1"},
    {"save_summary_steps": None},
    {"save_summary_steps": 0},
    {"save_summary_steps": -1},
    {"save_summary_steps": 0.5},
    {"save_summary_steps": float("nan")},
    {"save_summary_steps": "1"},
    {"save_checkpoints_steps": None},
    {"save_checkpoints_steps": 0},
    {"save_checkpoints_steps": 10},
    {"save_checkpoints_steps": -10},
    {"save_checkpoints_steps": []},
    {"save_checkpoints_secs": None},
    {"save_checkpoints_secs": 0},
    {"save_checkpoints_secs": 10},
    {"save_checkpoints_secs": -10},
    {"save_checkpoints_secs": "10"},
    {"save_checkpoints_steps": 10, "save_checkpoints_secs": 10},
    {"save_checkpoints_steps": 0, "save_checkpoints_secs": 0},
    {"save_checkpoints_steps": None, "save_checkpoints_secs": 10},
    {"save_checkpoints_steps": 10, "save_checkpoints_secs": None},
    {"save_checkpoints_steps": None, "save_checkpoints_secs": None},
    {"session_config": {}},
    {"session_config": "grpc"},
    {"session_config": False},
    {"keep_checkpoint_max": None},
    {"keep_checkpoint_max": 0},
    {"keep_checkpoint_max": -1},
    {"keep_checkpoint_max": {}},
    {"keep_checkpoint_every_n_hours": None},
    {"keep_checkpoint_every_n_hours": 0},
    {"keep_checkpoint_every_n_hours": 0.1},
    {"keep_checkpoint_every_n_hours": "day"},
    {"log_step_count_steps": None},
    {"log_step_count_steps": 0},
    {"log_step_count_steps": 1},
    {"log_step_count_steps": "1"},
    {"device_fn": None},
    {"device_fn": 3},
    {"device_fn": "/cpu:0"},
    {"device_fn": ""},
    {"device_fn": max},
    {"protocol": None},
    {"protocol": "grpc"},
    {"protocol": "grpc+verbs"},
    {"protocol": "GRPC"},
    {"protocol": ""},
    {"protocol": 1},
    {"session_creation_timeout_secs": None},
    {"session_creation_timeout_secs": 0},
    {"session_creation_timeout_secs": 1},
    {"session_creation_timeout_secs": -1},
    {"session_creation_timeout_secs": []},
)


def _text(*pairs, **members):
  """Returns the JSON of an object, without the members that are absent."""
  members = dict(pairs, **members)
  return json.dumps(
      {key: value for key, value in members.items() if value is not _ABSENT})


def _named_texts():
  """Yields the name and the text of every case without arguments."""
  for name, text in _TEXTS.items():
    yield "text/" + name, text

  for cluster in _CLUSTERS:
    for task in _TASKS:
      yield "cluster_%s/%s" % (cluster, task), _text(
          cluster=_CLUSTERS[cluster], task=_TASKS[task])

  for cluster in ("none", "full", "two_chiefs", "master_full"):
    for name, value in _TYPES.items():
      yield "type_in_%s/%s" % (cluster, name), _text(
          cluster=_CLUSTERS[cluster], task={"type": value, "index": 0})
    for task_type in ("worker", "evaluator"):
      for name, value in _INDICES.items():
        yield "index_of_%s_in_%s/%s" % (task_type, cluster, name), _text(
            cluster=_CLUSTERS[cluster],
            task={"type": task_type, "index": value})
    for name, value in _WRONG.items():
      yield "task_in_%s/%s" % (cluster, name), _text(
          cluster=_CLUSTERS[cluster], task=value)
  for name, value in _INDICES.items():
    yield "index_alone/" + name, _text(task={"index": value})

  for name, value in _WRONG.items():
    yield "cluster/" + name, _text(cluster=value, task=_WORKER)
  for name, value in _JOBS.items():
    for task_type in ("worker", "evaluator"):
      yield "job_seen_by_%s/%s" % (task_type, name), _text(
          cluster={"chief": ["c:1"], "worker": value},
          task={"type": task_type, "index": 0})
  for name, jobs in {
      "surrogate": {"chief": ["c:1"], u"\ud800": ["w:1"]},
      "surrogate_and_null": {"chief": [None], u"\ud800": ["w:1"]},
      "null_and_text": {"a": [None], "b": {"zero": "b:1"}},
      "null_and_huge": {"b": [None], "a": {"2147483648": "a:1"}},
      "unicode": {"chief": ["c:1"], u"j\u00f6b": ["j:1"]},
  }.items():
    for task_type in ("chief", u"j\u00f6b"):
      yield "job_names_seen_by_%s/%s" % (task_type[0], name), _text(
          cluster=jobs, task={"type": task_type, "index": 0})

  masters = {"address": "grpc://s:1", "empty": "", "null": None, "int": 1,
             "list": ["s:1"], "object": {"s": 1}}
  for setting, members in _SETTINGS.items():
    for key in ("session_master", "eval_session_master"):
      for name, value in masters.items():
        yield "%s_in_%s/%s" % (key, setting, name), _text(
            (key, value), **members)
    for name, value in dict(
        _WRONG, object={"a": {"b": [1]}}, empty_object={}).items():
      yield "service_in_%s/%s" % (setting, name), _text(
          service=value, **members)
      yield "environment_in_%s/%s" % (setting, name), _text(
          environment=value, **members)
  yield "session_masters/both", _text(
      session_master="a", eval_session_master="b")

  for name, value in dict(_WRONG, path="/a", object={"a": 1}).items():
    yield "model_dir_in_text/" + name, _text(model_dir=value)
    yield "model_dir_in_worker/" + name, _text(
        model_dir=value, **_SETTINGS["worker"])

  # Two faults at once: which of them is seen first?
  yield "two_faults/model_dir_service", _text(model_dir="", service=1)
  yield "two_faults/model_dir_cluster", _text(model_dir="", cluster=1)
  yield "two_faults/service_cluster", _text(service=1, cluster={"a": [None]})
  yield "two_faults/cluster_task", _text(cluster={"chief": 1}, task=1)
  for chief in ("chief", "master"):
    yield "two_faults/address_order_" + chief, _text(
        cluster={chief: ["c:1"], "foo": [], "worker": {"1": "w:2"}},
        task={"type": "worker", "index": 0})
    yield "two_faults/address_count_" + chief, _text(
        cluster={chief: ["c:1"], "worker": {"1": "w:2"},
                 "zoo": {"-3": "z:1", "1": "z:2"}},
        task={"type": "worker", "index": 0})
    yield "two_faults/type_count_" + chief, _text(
        cluster={chief: ["c:1"], "zoo": {"-3": "z:1", "1": "z:2"}},
        task={"type": "foo", "index": 0})


def cases():
  """Yields every `Case`."""
  for name, text in _named_texts():
    yield Case(name, text, {})

  for argument in ("/a", "/b", "", None, 0):
    for name, value in {"same": "/a", "empty": "", "null": None,
                        "int": 3, "zero": 0}.items():
      yield Case("model_dir_twice/%r_%s" % (argument, name),
                 _text(model_dir=value), {"model_dir": argument})

  for kwargs in _ARGUMENTS:
    name = ",".join(
        "%s=%s" % (key, getattr(value, "__name__", repr(value)))
        for key, value in sorted(kwargs.items()))
    yield Case("arguments/" + name, None, kwargs)
    # In a cluster, and with a fault in TF_CONFIG: which is seen first?
    yield Case("arguments_in_worker/" + name, _text(**_SETTINGS["worker"]),
               kwargs)
    yield Case("arguments_in_bad_cluster/" + name, _text(cluster=1), kwargs)
    yield Case("arguments_in_bad_json/" + name, "{", kwargs)
    yield Case("arguments_in_list/" + name, "[]", kwargs)


_ATTRIBUTES = (
    "cluster_spec",
    "device_fn",
    "evaluation_master",
    "global_id_in_cluster",
    "is_chief",
    "keep_checkpoint_every_n_hours",
    "keep_checkpoint_max",
    "log_step_count_steps",
    "master",
    "model_dir",
    "num_ps_replicas",
    "num_worker_replicas",
    "protocol",
    "save_checkpoints_secs",
    "save_checkpoints_steps",
    "save_summary_steps",
    "service",
    "session_config",
    "session_creation_timeout_secs",
    "task_id",
    "task_type",
    "tf_random_seed",
)


def attributes(config):
  """Returns the attributes of a `RunConfig`, as JSON has them."""
  values = {name: getattr(config, name) for name in _ATTRIBUTES}
  values["cluster_spec"] = config.cluster_spec.as_dict()
  if config.session_config is not None:
    values["session_config"] = json_format.MessageToDict(config.session_config)
  return json.loads(json.dumps(values))
