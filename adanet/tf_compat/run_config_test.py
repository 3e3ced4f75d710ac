# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of RunConfig, against what `tf.estimator.RunConfig` does."""

import copy
import functools
import json
import os
import pathlib
import pickle
import subprocess
import sys
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import runfiles
import tensorflow.compat.v1 as tf

from adanet import log
from adanet.tf_compat import run_config
from adanet.tf_compat.testdata import run_config_cases
from adanet.testing import hypothesis_profile
from adanet.testing import level

_GOLDEN = "adanet/adanet/tf_compat/testdata/estimator_run_config.json"
_CLUSTER = run_config_cases.FULL_CLUSTER


def _run_config(tf_config, **kwargs):
  """Returns a RunConfig made under a TF_CONFIG: None, text or a value."""
  with mock.patch.dict(os.environ):
    os.environ.pop("TF_CONFIG", None)
    if tf_config is not None:
      os.environ["TF_CONFIG"] = (
          tf_config if isinstance(tf_config, str) else json.dumps(tf_config))
    return run_config.RunConfig(**kwargs)


def _task(task_type, index, cluster=None):
  """Returns the TF_CONFIG of one task."""
  return {
      "cluster": _CLUSTER if cluster is None else cluster,
      "task": {"type": task_type, "index": index},
  }


def _place(op):
  return "/job:ps" if op else ""


class _Placer:
  """Ways to write a device function that are not plain functions."""

  def __call__(self, op):
    return _place(op)

  def method(self, op):
    return _place(op)


class _Subclass(run_config.RunConfig):
  pass


class EqualsTfEstimatorTest(absltest.TestCase):

  def _row(self, make_run_config, case):
    """Returns a row as text, in which 1, 1.0 and True differ."""
    defaults = run_config_cases.attributes(_run_config(None))
    result = run_config_cases.outcome(make_run_config, case)
    if make_run_config is run_config.RunConfig:
      self.assertNotIn("\n", str(result))
    return json.dumps(
        run_config_cases.golden_row(result, defaults), sort_keys=True)

  def test_golden(self):
    with open(runfiles.Create().Rlocation(_GOLDEN), encoding="utf-8") as golden:
      rows = json.load(golden)
    self.assertEqual(rows.pop("defaults"),
                     run_config_cases.attributes(_run_config(None)))
    self.assertGreater(len(rows), 400)
    self.assertCountEqual(
        rows, {case.name for case in run_config_cases.cases()})
    for case in run_config_cases.cases():
      with self.subTest(case.name):
        self.assertEqual(self._row(run_config.RunConfig, case),
                         json.dumps(rows[case.name], sort_keys=True))

  @absltest.skipUnless(hasattr(tf, "estimator"),
                       "this TensorFlow has no tf.estimator")
  def test_live(self):
    for case in run_config_cases.cases():
      with self.subTest(case.name):
        expected = run_config_cases.outcome(tf.estimator.RunConfig, case)
        if "expected one of: int" in str(expected):
          continue  # TensorFlow 1.15 rejects task indices that are text.
        self.assertEqual(self._row(run_config.RunConfig, case),
                         self._row(tf.estimator.RunConfig, case))


class ArgumentTest(parameterized.TestCase):

  def test_session_config(self):
    session_config = tf.ConfigProto(log_device_placement=True)
    for tf_config in (None, _task("worker", 0)):
      config = _run_config(tf_config, session_config=session_config)
      self.assertIs(config.session_config, session_config)

  def test_wrong_session_config(self):
    for value in tf.ConfigProto, tf.GraphOptions():
      with self.assertRaisesRegex(ValueError, "session_config must be .*, got"):
        _run_config(None, session_config=value)

  @parameterized.named_parameters(
      ("function", _place),
      ("varargs", lambda op=None, *args, job="ps", **kwargs: job),
      ("partial", functools.partial(lambda job, op: job, "ps")),
      ("object", _Placer()),
      ("method", _Placer().method),
  )
  def test_device_fn(self, device_fn):
    self.assertIs(
        _run_config(None, device_fn=device_fn).device_fn, device_fn)

  @parameterized.named_parameters(
      ("other_name", lambda operation: ""),
      ("no_argument", lambda: ""),
      ("two_arguments", lambda op, job: ""),
      ("unbound", _Placer.method),
      ("builtin", max),
  )
  def test_wrong_device_fn(self, device_fn):
    with self.assertRaisesRegex(ValueError, "device_fn must be .*'op'.*, got"):
      _run_config(None, device_fn=device_fn)

  def test_model_dir_is_a_path(self):
    config = _run_config(None, model_dir=pathlib.Path("/a"))
    self.assertEqual(config.model_dir, "/a")

  @parameterized.parameters(
      "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
      "keep_checkpoint_max", "log_step_count_steps")
  def test_integers_of_numpy(self, name):
    constructed = _run_config(None, **{name: np.int64(3)})
    replaced = _run_config(None).replace(**{name: np.int64(3)})
    for config in constructed, replaced:
      self.assertEqual(3, getattr(config, name))
      self.assertIs(int, type(getattr(config, name)))

  @parameterized.product(
      name=["tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
            "save_checkpoints_secs", "keep_checkpoint_max",
            "keep_checkpoint_every_n_hours", "log_step_count_steps",
            "session_creation_timeout_secs"],
      value=[True, np.bool_(True)])
  def test_booleans_are_no_numbers(self, name, value):
    with self.assertRaisesRegex(
        (TypeError, ValueError),
        rf"^{name} must be an? .*(number|integer).* or None, got .*True.?$"):
      _run_config(None, **{name: value})

  @parameterized.parameters(
      ({"task": {"type": "worker", "index": 0}}, 1), ({"task": {}}, 0),
      (_task("worker", 0), 0), ({}, 0), (None, 0))
  def test_task_without_a_cluster(self, tf_config, num_lines):
    log.warn_once.cache_clear()
    with self.assertLogs() as logs:
      for _ in range(2):
        _run_config(tf_config)
      logging.info("the end")
    self.assertLen(logs.output, num_lines + 1)
    if num_lines:
      self.assertRegex(
          logs.output[0], r"TF_CONFIG\['task'\] is .*worker.*: this process "
          r"trains alone\. Set TF_CONFIG\['cluster'\]")

  def test_arguments_after_those_of_tf_distribute_go_by_name(self):
    with self.assertRaises(TypeError):
      run_config.RunConfig(*[None] * 10)

  def test_attributes_are_read_only(self):
    config = _run_config(None)
    for name in run_config_cases.attributes(config):
      with self.assertRaises(AttributeError):
        setattr(config, name, None)

  @parameterized.named_parameters(
      ("json", "{", "TF_CONFIG must be a JSON object, got '{'"),
      ("object", "[7]", r"TF_CONFIG must be a JSON object, got \[7\]"),
      ("cluster", {"cluster": 7}, "'cluster'. must be an object.*, got 7"),
      ("job", {"cluster": {"a": 7}}, "'cluster'.*'a'. must be a list.*, got 7"),
      ("address", {"cluster": {"a": [7]}},
       "'cluster'.*'a'..0. must be a string, got 7"),
      ("index", _task("worker", "x"),
       "'task'.*'index'. must be an integer.*, got 'x'"),
      ("index_infinite", _task("worker", float("inf")),
       "'index'. must be an integer >= 0.*, got inf"),
      ("index_in_gap", _task("worker", 0, {"chief": ["c:1"],
                                           "worker": {"1": "w:2"}}),
       "'index'. must be the index of a task of 'worker' .*, got 0"),
      ("key_negative", {"cluster": {"ps": {"-1": "p:1"}}},
       "a task index of .*'ps'. must be an integer >= 0.*, got '-1'"),
      ("type", _task("foo", 0),
       "'type'. must be .*{'chief': 1, 'ps': 3, 'worker': 2}, got 'foo'"),
      ("no_chief", _task("ps", 0, {"ps": ["p:1"]}), "one 'chief'.*'ps'"),
      ("local_type", {"task": {"type": "ps"}},
       "'type'. must be 'worker' without .*'cluster'.*, got 'ps'"),
  )
  def test_message(self, tf_config, expected):
    with self.assertRaisesRegex(Exception, expected):
      _run_config(tf_config)


class ReplaceTest(parameterized.TestCase):

  def test_leaves_the_original_and_the_cluster(self):
    config = _run_config(_task("worker", 1), model_dir="/a")
    for replaced in (config.replace(model_dir="/b"), config.replace()):
      self.assertEqual(config.model_dir, "/a")
      self.assertEqual(replaced.cluster_spec, config.cluster_spec)
      self.assertEqual(replaced.global_id_in_cluster, 2)
      self.assertEqual(replaced.session_config, config.session_config)
      self.assertIsNot(replaced.session_config, config.session_config)
    self.assertEqual(config.replace(model_dir="/b").model_dir, "/b")
    self.assertEqual(
        config.replace(model_dir=pathlib.Path("/b")).model_dir, "/b")

  def test_equals_the_constructor(self):
    session_config = tf.ConfigProto(log_device_placement=True)
    config = _run_config(None).replace(
        device_fn=_place, session_config=session_config)
    self.assertIs(config.device_fn, _place)
    self.assertIs(config.session_config, session_config)
    original = _run_config(None)
    before = run_config_cases.attributes(original)
    for kwargs in run_config_cases.ARGUMENTS:
      if kwargs == {"save_checkpoints_steps": None}:
        continue  # See test_no_steps_keep_secs.
      with self.subTest(kwargs):
        case = run_config_cases.Case(None, kwargs)
        result = run_config_cases.outcome(original.replace, case)
        expected = run_config_cases.outcome(run_config.RunConfig, case)
        if isinstance(expected, Exception):
          self.assertEqual(repr(result), repr(expected))
        else:
          self.assertEqual(result, expected)
        self.assertEqual(run_config_cases.attributes(original), before)

  def test_no_steps_keep_secs(self):
    config = _run_config(None).replace(save_checkpoints_steps=None)
    self.assertIsNone(config.save_checkpoints_steps)
    self.assertEqual(config.save_checkpoints_secs, 600)

  def test_secs_replace_steps(self):
    config = _run_config(None, save_checkpoints_steps=5)
    config = config.replace(save_checkpoints_secs=7)
    self.assertIsNone(config.save_checkpoints_steps)

  def test_no_session_config_stays_none(self):
    config = _run_config(_task("chief", 0))
    self.assertIsNone(config.replace(session_config=None).session_config)
    self.assertIsNotNone(config.replace(protocol="grpc").session_config)

  def test_default_session_config(self):
    """It is that of a cluster's task, which is held against tf.estimator's."""
    expected = _run_config(_task("chief", 0)).session_config
    filters = list(expected.device_filters)
    self.assertNotEmpty(filters)
    self.assertEqual(expected, run_config.default_session_config(filters))
    del expected.device_filters[:]
    self.assertEqual(expected, run_config.default_session_config())

  @parameterized.parameters("foo", "task_type", "train_distribute")
  def test_no_argument(self, name):
    with self.assertRaisesRegex(ValueError, "takes only .*, got %s=1" % name):
      _run_config(None).replace(**{name: 1})

  def test_subclass(self):
    with mock.patch.dict(os.environ, TF_CONFIG="{}"):
      self.assertIsInstance(_Subclass().replace(model_dir="/a"), _Subclass)


class EstimatorRunConfigTest(absltest.TestCase):

  def test_values_and_type(self):
    with mock.patch.dict(os.environ, TF_CONFIG="{}"):
      config = _Subclass(model_dir="/tmp/model", tf_random_seed=7,
                         save_checkpoints_steps=3, keep_checkpoint_max=2)
    converted = run_config.estimator_run_config(config)
    self.assertEqual(("/tmp/model", 7, 3, None, 2),
                     (converted.model_dir, converted.tf_random_seed,
                      converted.save_checkpoints_steps,
                      converted.save_checkpoints_secs,
                      converted.keep_checkpoint_max))
    self.assertIsInstance(
        converted,
        tf.estimator.RunConfig if hasattr(tf, "estimator") else _Subclass)
    self.assertIs(converted, run_config.estimator_run_config(converted))


class CopyTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("copy", copy.copy),
      ("deepcopy", copy.deepcopy),
      ("pickle", lambda config: pickle.loads(pickle.dumps(config))),
  )
  def test_copy(self, make_copy):
    config = _run_config(
        _task("worker", 1), model_dir="/a", device_fn=_place)
    before = make_copy(config)
    self.assertEqual(config.cluster_spec, _run_config(
        _task("worker", 1)).cluster_spec)
    config.session_config.gpu_options.allow_growth = True
    after = make_copy(config)
    self.assertTrue(after.session_config.gpu_options.allow_growth)
    for copied in (before, after):
      self.assertIs(copied.device_fn, _place)
      self.assertEqual(repr(copied), repr(config))
      self.assertEqual(copied.cluster_spec, config.cluster_spec)

  def test_pickle_of_a_used_config_needs_no_tensorflow(self):
    config = _run_config(_task("worker", 1))
    self.assertNotEmpty(config.cluster_spec.jobs)
    self.assertNotIn(b"tensorflow", pickle.dumps(config))

  def test_built_once(self):
    config = _run_config(_task("worker", 1))
    self.assertIs(config.cluster_spec, config.cluster_spec)
    self.assertIs(config.session_config, config.session_config)

  def test_repr(self):
    self.assertEqual(
        repr(_run_config(_task("worker", 1), model_dir="/a")),
        "RunConfig(task_type='worker', task_id=1, is_chief=False, "
        "num_worker_replicas=3, num_ps_replicas=3, global_id_in_cluster=2, "
        "master='grpc://w:2', model_dir='/a', "
        "cluster={'chief': 1, 'ps': 3, 'worker': 2})")
    self.assertEndsWith(
        repr(_run_config(_task("evaluator", 0))), "cluster={})")


class EnvironmentTest(parameterized.TestCase):

  def test_left_alone_and_read_once(self):
    text = json.dumps(_task("ps", 2))
    with mock.patch.dict(os.environ, TF_CONFIG=text):
      before = dict(os.environ)
      config = run_config.RunConfig()
      self.assertEqual(dict(os.environ), before)
      os.environ["TF_CONFIG"] = "{}"
      self.assertEqual(config.replace(protocol="grpc").task_type, "ps")
      self.assertEqual(config.cluster_spec.as_dict(), _CLUSTER)

  def test_no_tensorflow(self):
    program = """if True:
        import copy, pickle, sys
        sys.modules["tensorflow"] = None  # Importing it raises.
        from adanet.tf_compat import run_config
        config = run_config.RunConfig("/a", device_fn=lambda op: "")
        config = copy.deepcopy(config.replace(device_fn=None))
        config = pickle.loads(pickle.dumps(config))
        try:
          run_config.RunConfig(session_config="a proto")
        except ValueError:
          print(config)
        assert not [m for m in sys.modules if m.startswith("tensorflow.")]
        """
    output = subprocess.check_output(
        [sys.executable, "-c", program],
        env=dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(sys.path),
            TF_CONFIG=json.dumps(_task("worker", 1))))
    self.assertStartsWith(output.decode(), "RunConfig(task_type='worker', ")


_TEXTS = hypothesis_profile.TEXTS
_CHIEFS = st.sampled_from(["chief", "master"])
_ADDRESSES = st.text("abc:01", min_size=1, max_size=4)
# {index: address}, with and without gaps.
_TASKS = st.dictionaries(st.integers(0, 9), _ADDRESSES, min_size=1, max_size=4)
_OTHER_JOBS = st.dictionaries(
    st.sampled_from(["worker", "ps", "evaluator", "foo"]), _TASKS)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda values: st.lists(values) | st.dictionaries(_TEXTS, values),
    max_leaves=5)


class PropertyTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=25)
  @hypothesis.given(_JSON | st.fixed_dictionaries({
      "cluster": _JSON | st.dictionaries(
          st.sampled_from(["chief", "worker", "ps"]),
          st.lists(_ADDRESSES | _JSON, max_size=3) | st.dictionaries(
              st.integers(-2**31 - 1, 2**31) | st.integers(0, 2),
              _ADDRESSES | _JSON, max_size=3)),
      "task": _JSON | st.just({"type": "chief", "index": 0})}))
  def test_any_json(self, tf_config):
    try:
      config = _run_config(json.dumps(tf_config))
    except (AttributeError, TypeError, ValueError) as error:
      self.assertIn("TF_CONFIG", str(error))
      self.assertLen(str(error).split("\n"), 1)
    else:
      self.assertTrue(config.is_chief)
      self.assertIsInstance(config.cluster_spec, tf.train.ClusterSpec)


class ForChiefTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(10, 50))
  @hypothesis.given(
      _CHIEFS, _OTHER_JOBS,
      st.sampled_from([{}, {"type": "evaluator", "index": 0},
                       {"type": "ps", "index": 7}, 3]))
  def test_as_in_the_environment_of_the_chief(self, chief, others, task):
    cluster = dict(others, **{chief: ["c:1"]})
    tf_config = {
        "cluster": cluster, "model_dir": "", "service": 7, "task": task}
    with mock.patch.dict(os.environ, TF_CONFIG="{"):
      config = run_config.RunConfig.for_chief(tf_config, model_dir="/a")
    expected = _run_config(_task(chief, 0, cluster), model_dir="/a")
    self.assertEqual(run_config_cases.attributes(config),
                     run_config_cases.attributes(expected))

  @parameterized.named_parameters(
      ("list", [], AttributeError, "must be a JSON object, got .."),
      ("no_cluster", {"task": {"type": "worker", "index": 0}}, ValueError,
       "'cluster'. must name the tasks .*got none"),
      ("empty_cluster", {"cluster": {}}, ValueError, "got none"),
      ("list_of_jobs", {"cluster": ["chief"]}, TypeError, "object of jobs"),
      ("no_chief", {"cluster": {"worker": ["w:1"]}}, ValueError,
       "must have one 'chief', got the jobs .'worker'."),
      ("two_chiefs", {"cluster": {"chief": ["c:1", "c:2"]}}, ValueError,
       r"'chief'. must have one task, .*got the indices \[0, 1\]"),
      ("chief_and_master", {"cluster": {"chief": ["c:1"], "master": ["m:1"]}},
       ValueError, "both a 'chief' and a 'master'"),
      ("address", {"cluster": {"chief": [7]}}, TypeError, "a string, got 7"),
  )
  def test_error(self, tf_config, error, expected):
    with self.assertRaisesRegex(error, "TF_CONFIG.*" + expected):
      run_config.RunConfig.for_chief(tf_config)



if __name__ == "__main__":
  absltest.main()
