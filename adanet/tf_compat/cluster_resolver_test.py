# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `RunConfig.from_cluster_resolver`, against `TF_CONFIG` of the same.

Every kind of resolver that TensorFlow has is in `adanet/distributed`.
"""

import copy
import json
import os
import pickle
import threading
import typing
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import tensorflow.compat.v1 as tf
# Not public; TensorFlow's strategies find the chief and number workers by it.
from tensorflow.python.distribute import multi_worker_util

from adanet.tf_compat import run_config
from adanet.tf_compat import run_config_cases

_resolvers = tf.distribute.cluster_resolver

_CHIEFLESS = {"worker": ["w:1", "w:2", "w:3"], "ps": ["p:1", "p:2"]}
_WITH_CHIEF = {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1"]}


def _simple(cluster, task_type=None, task_id=None, **kwargs):
  return _resolvers.SimpleClusterResolver(
      tf.train.ClusterSpec(cluster),
      task_type=task_type,
      task_id=task_id,
      **kwargs)


def _from_simple(cluster, task_type=None, task_id=None, **kwargs):
  """Returns the RunConfig of a task, made under a useless TF_CONFIG."""
  with mock.patch.dict(os.environ, TF_CONFIG="{"):
    return run_config.RunConfig.from_cluster_resolver(
        _simple(cluster, task_type, task_id), **kwargs)


def _from_tf_config(cluster, task_type, task_id):
  """Returns the RunConfig of a task, made by the constructor."""
  text = json.dumps(
      {"cluster": cluster, "task": {"type": task_type, "index": task_id}})
  with mock.patch.dict(os.environ, TF_CONFIG=text):
    return run_config.RunConfig()


class _Outcome(typing.NamedTuple):
  """The attributes of the RunConfig that was made, or the exception."""
  attributes: typing.Optional[dict]
  error: typing.Optional[Exception]


def _outcome(make, *args, **kwargs):
  try:
    return _Outcome(run_config_cases.attributes(make(*args, **kwargs)), None)
  except Exception as error:  # pylint: disable=broad-except
    return _Outcome(None, error)


def _with_integer_keys(cluster):
  """Returns the cluster of a TF_CONFIG, whose indices are text, for Python."""
  return {
      job: {int(index): address for index, address in tasks.items()}
      if isinstance(tasks, dict) else tasks for job, tasks in cluster.items()
  }


def _takes(cluster):
  """Says whether TensorFlow's ClusterSpec takes a cluster."""
  try:
    return tf.train.ClusterSpec(cluster) is not None
  except TypeError:
    return False


class _Resolver(_resolvers.ClusterResolver):
  """The least that a resolver is: its task is not known."""

  def __init__(self, cluster_spec):
    self._answer = cluster_spec
    self._lock = threading.Lock()  # Neither copied nor pickled, as a client.

  def cluster_spec(self):
    if isinstance(self._answer, Exception):
      raise self._answer
    return self._answer

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    raise AssertionError("It is not asked for a master.")


class _TaskOfCluster(_Resolver):
  """As a SlurmClusterResolver, it knows its task once it knows the cluster."""

  task_type = None
  task_id = None

  def cluster_spec(self):
    self.task_type, self.task_id = "worker", 1
    return super(_TaskOfCluster, self).cluster_spec()


class _Subclass(run_config.RunConfig):
  pass


class EqualsTFConfigTest(parameterized.TestCase):
  """With a chief, or without a cluster, there is next to nothing new."""

  def _check(self, cluster, make, *args, expected):
    attributes, error = _outcome(make, *args)
    if expected.error is None:
      self.assertIsNone(error)
      expected_attributes = dict(expected.attributes)
      if set(cluster) - {"chief", "master", "worker", "ps"}:
        # See test_other_jobs_come_after_the_workers.
        del attributes["global_id_in_cluster"]
        del expected_attributes["global_id_in_cluster"]
      self.assertEqual(attributes, expected_attributes)
    else:
      self.assertIsNotNone(error, attributes)
      self.assertNotIn("\n", str(error))
      self.assertNotIn("TF_CONFIG", str(error))

  @parameterized.named_parameters(
      (group, group) for group in sorted({
          case.name.split("/")[0] for case in run_config_cases.cases()
      }) if group.startswith("cluster_"))
  def test_every_cluster_and_task(self, group):
    for case in run_config_cases.cases():
      if case.name.split("/")[0] != group:
        continue
      tf_config = json.loads(case.tf_config)
      cluster = _with_integer_keys(tf_config.get("cluster", {}))
      task = tf_config.get("task", {})
      if "worker" in cluster and not {"chief", "master"} & set(cluster):
        continue  # What only a resolver may describe: see ChieflessTest.
      if not cluster.get("foo", True):
        continue  # Only tf.estimator counts an empty job before the workers.
      with self.subTest(case.name):
        with mock.patch.dict(os.environ, TF_CONFIG=case.tf_config):
          expected = _outcome(run_config.RunConfig)
          resolver = _resolvers.TFConfigClusterResolver()
          if _takes(tf_config.get("cluster", {})):
            self._check(cluster, run_config.RunConfig.from_cluster_resolver,
                        resolver, expected=expected)
          else:  # TensorFlow 1.15, whose resolver wants integers for keys.
            with self.assertRaises(TypeError):
              run_config.RunConfig.from_cluster_resolver(resolver)
        if cluster or task:
          self._check(cluster, _from_simple, cluster, task.get("type"),
                      task.get("index"), expected=expected)

  @hypothesis.settings(database=None, deadline=None, derandomize=True)
  @hypothesis.given(st.data())
  def test_any_cluster_with_a_chief(self, data):
    address = st.text("abc:01", min_size=1, max_size=4)
    jobs = data.draw(
        st.dictionaries(
            st.sampled_from(["worker", "ps", "evaluator", "coordinator"]),
            st.lists(address, min_size=1, max_size=9) |
            st.dictionaries(st.integers(0, 99), address, min_size=1)))
    chief = data.draw(st.sampled_from(["chief", "master"]))
    cluster = dict(jobs, **{chief: ["c:1"]})
    spec = tf.train.ClusterSpec(cluster)
    task_type = data.draw(st.sampled_from(sorted(cluster)))
    task_id = data.draw(st.sampled_from(spec.task_indices(task_type)))
    expected = _outcome(_from_tf_config, cluster, task_type, task_id)
    hypothesis.assume(not expected.error)  # As an evaluator's beside a master.
    for known_as in (cluster, spec.as_cluster_def()):
      self._check(cluster, _from_simple, known_as, task_type, task_id,
                  expected=expected)

  @parameterized.product(
      first=["chief", "master"], other=["coordinator", "evaluator", "aux"])
  def test_other_jobs_come_after_the_workers(self, first, other):
    cluster = {first: ["c:1"], other: ["o:1"], "worker": ["w:1", "w:2"],
               "ps": ["p:1"]}
    tasks = [(first, 0), ("worker", 0), ("worker", 1)]
    if other != "evaluator":  # Which stands outside.
      tasks.append((other, 0))
    for expected, (job, index) in enumerate(tasks):
      config = _from_simple(cluster, job, index)
      self.assertEqual(config.global_id_in_cluster, expected)
      self.assertEqual(config.is_chief, expected == 0)
      self.assertEqual(config.num_worker_replicas, 3)
    self.assertEqual(_from_simple(cluster, "ps", 0).global_id_in_cluster, 4)

  @parameterized.named_parameters(
      (case.name.split("/")[1], case.kwargs)
      for case in run_config_cases.cases()
      if case.name.startswith("arguments/"))
  def test_arguments(self, kwargs):
    with mock.patch.dict(os.environ):
      os.environ.pop("TF_CONFIG", None)
      expected = _outcome(run_config.RunConfig, **kwargs)
    result = _outcome(_from_simple, {}, **kwargs)
    self.assertEqual(result.attributes, expected.attributes)
    self.assertEqual(repr(result.error), repr(expected.error))

  def test_other_members_of_tf_config(self):
    text = json.dumps({
        "cluster": _WITH_CHIEF,
        "task": {"type": "chief", "index": 0},
        "model_dir": "/a",
        "service": {"a": 1},
        "session_master": "grpc://s:1",
        "eval_session_master": "grpc://s:2",
    })
    with mock.patch.dict(os.environ, TF_CONFIG=text):
      config = run_config.RunConfig.from_cluster_resolver(
          _resolvers.TFConfigClusterResolver(), model_dir="/b")
    self.assertEqual(
        run_config_cases.attributes(config),
        run_config_cases.attributes(
            _from_tf_config(_WITH_CHIEF, "chief", 0).replace(model_dir="/b")))


class ChieflessTest(parameterized.TestCase):
  """Without a chief, worker 0 is the chief, as everywhere in tf.distribute."""

  @hypothesis.settings(database=None, deadline=None, derandomize=True)
  @hypothesis.given(st.integers(1, 9), st.integers(0, 9), st.booleans())
  def test_as_tf_distribute(self, num_workers, num_ps, has_chief):
    cluster = {
        "chief": ["c:1"] if has_chief else [],
        "worker": ["w:%d" % i for i in range(num_workers)],
        "ps": ["p:%d" % i for i in range(num_ps)],
    }
    cluster = {job: tasks for job, tasks in cluster.items() if tasks}
    ids = []
    for job in [job for job in ("chief", "worker", "ps") if job in cluster]:
      for index in range(len(cluster[job])):
        config = _from_simple(cluster, job, index)
        self.assertEqual(config.task_type, job)
        self.assertEqual(config.task_id, index)
        self.assertEqual(config.cluster_spec.as_dict(), cluster)
        self.assertEqual(
            config.is_chief, multi_worker_util.is_chief(cluster, job, index))
        self.assertEqual(
            config.num_worker_replicas,
            multi_worker_util.worker_count(cluster, "worker"))
        self.assertEqual(config.num_ps_replicas, num_ps)
        ids.append(config.global_id_in_cluster)
        if job != "ps":
          self.assertEqual(
              ids[-1], multi_worker_util.id_in_cluster(cluster, job, index))
    self.assertEqual(ids, list(range(len(ids))))  # Parameter servers are last.

  @hypothesis.settings(database=None, deadline=None, derandomize=True)
  @hypothesis.given(st.integers(2, 9), st.integers(0, 9), st.data())
  def test_as_if_worker_0_were_called_chief(self, num_workers, num_ps, data):
    workers = ["w:%d" % i for i in range(num_workers)]
    ps = {"ps": ["p:%d" % i for i in range(num_ps)]} if num_ps else {}
    chiefless = dict(ps, worker=workers)
    with_chief = dict(ps, chief=workers[:1], worker=workers[1:])
    job = data.draw(st.sampled_from(sorted(chiefless)))
    index = data.draw(st.integers(0, len(chiefless[job]) - 1))
    task = ((job, index) if job == "ps" else
            ("worker", index - 1) if index else ("chief", 0))
    config = _from_simple(chiefless, job, index)
    expected = _from_tf_config(with_chief, *task)
    for name in ("is_chief", "num_worker_replicas", "num_ps_replicas",
                 "global_id_in_cluster", "master", "evaluation_master",
                 "service"):
      self.assertEqual(getattr(config, name), getattr(expected, name), name)

  @parameterized.named_parameters(
      ("chief", "worker", 0, ["/job:ps", "/job:worker/task:0"]),
      ("worker", "worker", 2, ["/job:ps", "/job:worker/task:2"]),
      ("ps", "ps", 1, ["/job:ps", "/job:worker", "/job:chief", "/job:master"]),
  )
  def test_waits_for_no_other_worker(self, job, index, filters):
    config = _from_simple(_CHIEFLESS, job, index)
    self.assertEqual(config.session_config.device_filters, filters)

  def test_coordinator_and_other_jobs_come_between(self):
    cluster = dict(_CHIEFLESS, coordinator=["d:1"], evaluator=["e:1"])
    for index in range(3):
      self.assertEqual(
          _from_simple(cluster, "worker", index).global_id_in_cluster, index)
    config = _from_simple(cluster, "coordinator", 0)
    self.assertEqual(config.global_id_in_cluster, 3)
    self.assertFalse(config.is_chief)
    self.assertIsNone(config.session_config)
    self.assertEqual(config.num_worker_replicas, 3)
    self.assertEqual(_from_simple(cluster, "ps", 0).global_id_in_cluster, 5)

  @parameterized.named_parameters(
      ("outside", _CHIEFLESS), ("listed", dict(_CHIEFLESS, evaluator=["e:1"])))
  def test_evaluator(self, cluster):
    self.assertEqual(
        run_config_cases.attributes(_from_simple(cluster, "evaluator", 0)),
        run_config_cases.attributes(
            _from_tf_config(_WITH_CHIEF, "evaluator", 0)))

  @parameterized.named_parameters(("first", 0, True), ("last", 7, False))
  def test_sparse(self, index, is_chief):
    cluster = {"worker": {index: "w:1"}, "ps": ["p:1"]}
    config = _from_simple(cluster, "worker", index)
    self.assertEqual(config.is_chief, is_chief)
    self.assertEqual(config.num_worker_replicas, 1)
    self.assertEqual(config.global_id_in_cluster, index)
    self.assertEqual(config.master, "grpc://w:1")
    self.assertEqual(config.cluster_spec.task_indices("worker"), [index])

  def test_one_worker_alone(self):
    config = _from_simple({"worker": ["w:1"]}, "worker", 0)
    self.assertEqual(config.master, "")
    self.assertTrue(config.is_chief)
    self.assertEqual(config.num_worker_replicas, 1)


class ResolverTest(parameterized.TestCase):
  """What a resolver may answer."""

  @parameterized.named_parameters(
      ("none", None),
      ("empty", tf.train.ClusterSpec({})),
  )
  def test_local(self, answer):
    with mock.patch.dict(os.environ, TF_CONFIG="{}"):
      expected = run_config.RunConfig()
    config = run_config.RunConfig.from_cluster_resolver(_Resolver(answer))
    self.assertEqual(
        run_config_cases.attributes(config),
        run_config_cases.attributes(expected))

  @parameterized.named_parameters(
      ("spec", tf.train.ClusterSpec(_CHIEFLESS)),
      ("dict", _CHIEFLESS),
      ("message", tf.train.ClusterSpec(_CHIEFLESS).as_cluster_def()),
      ("bytes", {b"worker": [b"w:1", b"w:2", b"w:3"], b"ps": [b"p:1", b"p:2"]}),
  )
  def test_cluster_spec(self, answer):
    config = run_config.RunConfig.from_cluster_resolver(_TaskOfCluster(answer))
    self.assertEqual(
        run_config_cases.attributes(config),
        run_config_cases.attributes(_from_simple(_CHIEFLESS, "worker", 1)))

  def test_task_as_text(self):
    self.assertEqual(_from_simple(_CHIEFLESS, "worker", "2").task_id, 2)

  @parameterized.named_parameters(
      ("grpc", "grpc", "grpc://w:2"),
      ("other", "grpc+loas", "grpc+loas://w:2"),
      ("none", None, "grpc://w:2"),
      ("empty", "", "grpc://w:2"),
  )
  def test_rpc_layer(self, rpc_layer, master):
    for resolver in (
        _simple(_CHIEFLESS, "worker", 1, rpc_layer=rpc_layer),
        _resolvers.UnionResolver(
            _simple(_CHIEFLESS, "worker", 1), rpc_layer=rpc_layer)):
      config = run_config.RunConfig.from_cluster_resolver(resolver)
      self.assertEqual(config.master, master)
      self.assertIsNone(config.protocol)

  def test_union_with_one_that_has_no_rpc_layer(self):
    resolver = _resolvers.UnionResolver(_TaskOfCluster(
        tf.train.ClusterSpec(_CHIEFLESS)))
    config = run_config.RunConfig.from_cluster_resolver(resolver)
    self.assertEqual(config.master, "grpc://w:2")

  def test_asked_once(self):
    resolver = _simple(_CHIEFLESS, "worker", 1)
    with mock.patch.object(
        resolver, "cluster_spec", wraps=resolver.cluster_spec) as cluster_spec:
      config = run_config.RunConfig.from_cluster_resolver(resolver)
      resolver.task_id = 2
      config = config.replace(model_dir="/a")
      self.assertEqual(config.task_id, 1)
      self.assertNotEmpty(config.cluster_spec.jobs)
      cluster_spec.assert_called_once_with()

  @parameterized.named_parameters(
      ("runtime_error", RuntimeError("two\nlines")),
      ("key_error", KeyError("SLURM_PROCID")),
      ("import_error", ImportError("no client")),
  )
  def test_its_own_error_passes(self, error):
    with self.assertRaises(type(error)) as raised:
      run_config.RunConfig.from_cluster_resolver(_Resolver(error))
    self.assertIs(raised.exception, error)


_NO_TASK = ("resolver.task_type and resolver.task_id must .*, got %s: set "
            "resolver.task_type = 'worker' and resolver.task_id = 0")


class ErrorTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("none", None),
      ("text", "grpc://w:1"),
      ("dict", _CHIEFLESS),
      ("cluster_spec", tf.train.ClusterSpec(_CHIEFLESS)),
      ("message", tf.train.ClusterSpec(_CHIEFLESS).as_cluster_def()),
      ("object", object()),
      ("class", _resolvers.TFConfigClusterResolver),
  )
  def test_no_resolver(self, resolver):
    with self.assertRaisesRegex(
        TypeError,
        r"^resolver must be a tf\.distribute\.cluster_resolver\.ClusterResolver"
        ", got .+$"):
      run_config.RunConfig.from_cluster_resolver(resolver)

  @parameterized.named_parameters(
      ("no_task", _CHIEFLESS, None, None, _NO_TASK % "None and None"),
      ("no_type", _CHIEFLESS, None, 1, _NO_TASK % "None and 1"),
      ("empty_type", _CHIEFLESS, "", 1, _NO_TASK % "'' and 1"),
      ("no_id", _CHIEFLESS, "ps", None, _NO_TASK % "'ps' and None"),
      ("id_text", _CHIEFLESS, "ps", "one",
       "^resolver.task_id must be an integer, got 'one'$"),
      ("id_negative", _CHIEFLESS, "ps", -1,
       "^resolver.task_id must be >= 0, got -1$"),
      ("id_too_large", _CHIEFLESS, "ps", 2,
       "^resolver.task_id must be below 2 for 'ps' in the cluster {'ps': 2, "
       "'worker': 3}, got 2$"),
      ("type_not_in_cluster", _CHIEFLESS, "chief", 0,
       "^resolver.task_type must be 'evaluator' or a job of the cluster "
       "{'ps': 2, 'worker': 3}, got 'chief'$"),
      ("two_chiefs", {"chief": ["c:1", "c:2"]}, "chief", 0,
       r"^resolver.cluster_spec\(\)\['chief'\] must have one task, got 2$"),
      ("chief_and_master", {"chief": ["c:1"], "master": ["m:1"]}, "chief", 0,
       r"^resolver.cluster_spec\(\) must not have both a 'chief' and a "
       r"'master', got \['chief', 'master'\]$"),
      ("no_leader", {"ps": ["p:1"], "tpu": ["t:1"]}, "ps", 0,
       r"^resolver.cluster_spec\(\) must have one 'chief' or 'worker', got the "
       r"jobs \['ps', 'tpu'\]$"),
      ("no_workers", {"worker": []}, "worker", 0,
       r"^resolver.cluster_spec\(\)\['worker'\] must name a task, got none$"),
      ("evaluator_of_master", {"master": ["m:1"]}, "evaluator", 0,
       "^resolver.task_type must not be 'evaluator' in a cluster with a "
       "'master'"),
      ("local_ps", {}, "ps", 0,
       r"^resolver.task_type must be 'worker' without resolver.cluster_spec\(\)"
       ", got 'ps'$"),
      ("local_worker_1", {}, "worker", 1,
       r"^resolver.task_id must be 0 without resolver.cluster_spec\(\), got "
       "1$"),
  )
  def test_value(self, cluster, task_type, task_id, expected):
    with self.assertRaisesRegex(ValueError, expected) as raised:
      _from_simple(cluster, task_type, task_id)
    self.assertLen(str(raised.exception).split("\n"), 1)

  @parameterized.named_parameters(
      ("gap", _simple({"worker": {0: "w:1", 2: "w:3"}}, "worker", 1),
       r"^resolver.cluster_spec\(\)\['worker'\]\[1\] must be the address of "
       "this task, got none$"),
      ("rpc_layer", _simple(_CHIEFLESS, "worker", 1, rpc_layer=7),
       "^resolver.rpc_layer must be a string or None, got 7$"),
  )
  def test_type(self, resolver, expected):
    with self.assertRaisesRegex(TypeError, expected):
      run_config.RunConfig.from_cluster_resolver(resolver)

  def test_a_task_that_is_set_as_the_error_says(self):
    first = _Resolver(tf.train.ClusterSpec(_CHIEFLESS))
    union = _resolvers.UnionResolver(first, task_type="worker", task_id=0)
    for resolver in (first, union):
      with self.assertRaisesRegex(ValueError, "UnionResolver on its first"):
        run_config.RunConfig.from_cluster_resolver(resolver)
    first.task_type = "worker"
    first.task_id = 0
    for resolver in (first, union):
      self.assertTrue(
          run_config.RunConfig.from_cluster_resolver(resolver).is_chief)

  def test_arguments_are_checked_first(self):
    resolver = _Resolver(AssertionError("It was asked."))
    with self.assertRaisesRegex(ValueError, "keep_checkpoint_max"):
      run_config.RunConfig.from_cluster_resolver(
          resolver, keep_checkpoint_max=-1)
    with self.assertRaisesRegex(TypeError, "foo"):
      run_config.RunConfig.from_cluster_resolver(resolver, foo=1)


class RunConfigTest(parameterized.TestCase):
  """The result is a RunConfig as any other."""

  def test_environment(self):
    with mock.patch.dict(os.environ, TF_CONFIG="{"):
      before = dict(os.environ)
      config = run_config.RunConfig.from_cluster_resolver(
          _simple(_CHIEFLESS, "worker", 1))
      self.assertEqual(dict(os.environ), before)
    self.assertIsNone(config.model_dir)

  @parameterized.named_parameters(
      ("copy", copy.copy),
      ("deepcopy", copy.deepcopy),
      ("pickle", lambda config: pickle.loads(pickle.dumps(config))),
      ("replace", lambda config: config.replace()),
  )
  def test_copy(self, make_copy):
    config = run_config.RunConfig.from_cluster_resolver(
        _TaskOfCluster(tf.train.ClusterSpec(_CHIEFLESS)), model_dir="/a")
    expected = run_config_cases.attributes(config)
    self.assertNotIn(b"tensorflow", pickle.dumps(
        config.replace(session_config=None)))
    self.assertEqual(run_config_cases.attributes(make_copy(config)), expected)
    self.assertEqual(repr(make_copy(config)), repr(config))

  def test_replace(self):
    config = _from_simple(_CHIEFLESS, "worker", 0).replace(model_dir="/a")
    self.assertEqual(config.model_dir, "/a")
    self.assertTrue(config.is_chief)
    for name in ("resolver", "_cluster_resolver"):
      with self.assertRaisesRegex(ValueError, "replace.. takes only"):
        config.replace(**{name: _simple({})})

  def test_repr(self):
    self.assertEqual(
        repr(_from_simple(_CHIEFLESS, "worker", 1, model_dir="/a")),
        "RunConfig(task_type='worker', task_id=1, is_chief=False, "
        "num_worker_replicas=3, num_ps_replicas=2, global_id_in_cluster=1, "
        "master='grpc://w:2', model_dir='/a', cluster={'ps': 2, 'worker': 3})")

  def test_subclass(self):
    self.assertIsInstance(
        _Subclass.from_cluster_resolver(_simple({})), _Subclass)


if __name__ == "__main__":
  absltest.main()
