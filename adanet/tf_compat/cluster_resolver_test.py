# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `RunConfig.from_cluster_resolver`, against the same `TF_CONFIG`."""

import functools
import json
import os
import pickle
import threading
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import tensorflow.compat.v1 as tf
# Not public. TensorFlow's strategies find the chief and number workers with it.
from tensorflow.python.distribute import multi_worker_util

from adanet.tf_compat import run_config
from adanet.tf_compat.testdata import run_config_cases
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level

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
  """Returns the outcome of the constructor for a task."""
  tf_config = {
      "cluster": cluster, "task": {"type": task_type, "index": task_id}}
  return run_config_cases.outcome(
      run_config.RunConfig, run_config_cases.Case(json.dumps(tf_config)))


class _Resolver(_resolvers.ClusterResolver):
  """A resolver that does not know its task."""

  def __init__(self, cluster_spec):
    self._answer = cluster_spec

  def cluster_spec(self):
    if isinstance(self._answer, Exception):
      raise self._answer
    return self._answer

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    raise AssertionError("RunConfig must not call master().")


class _TaskOfCluster(_Resolver):
  """Like a SlurmClusterResolver, knows its task after the cluster."""

  task_type = None
  task_id = None

  def cluster_spec(self):
    self.task_type, self.task_id = "worker", 1
    return super().cluster_spec()


class EqualsTFConfigTest(parameterized.TestCase):
  """With a chief, or without a cluster, the result is that of `TF_CONFIG`."""

  def _check(self, cluster, task_type, task_id):
    expected = _from_tf_config(cluster, task_type, task_id)
    for known_as in (cluster, tf.train.ClusterSpec(cluster).as_cluster_def()):
      result = run_config_cases.outcome(
          functools.partial(_from_simple, known_as, task_type, task_id),
          run_config_cases.Case("{"))
      if isinstance(expected, Exception):
        self.assertIsInstance(result, type(expected))
        self.assertNotIn("\n", str(result))
        self.assertNotIn("TF_CONFIG", str(result))
        continue
      if set(cluster) - {"chief", "master", "worker", "ps"}:
        # See test_other_jobs_come_after_the_workers.
        result["global_id_in_cluster"] = expected["global_id_in_cluster"]
      self.assertEqual(result, expected)

  def test_every_cluster_and_task(self):
    for cluster in run_config_cases.CLUSTERS:
      if "worker" in cluster and not {"chief", "master"} & set(cluster):
        continue  # A mistake in TF_CONFIG only: see ChieflessTest.
      for task in run_config_cases.TASKS:
        if not {"type", "index"} - set(task):
          with self.subTest(cluster=cluster, task=task):
            self._check(cluster, task["type"], task["index"])
    for cluster, tasks in run_config_cases.SPARSE:
      for task_type, task_id in tasks:
        with self.subTest(cluster=cluster, task=(task_type, task_id)):
          self._check(cluster, task_type, task_id)

  def test_tf_config_cluster_resolver(self):
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
        dict(_from_tf_config(_WITH_CHIEF, "chief", 0), model_dir="/b"))

  @parameterized.product(
      chief=["chief", "master", None],
      other=["coordinator", "evaluator", "aux"])
  def test_other_jobs_come_after_the_workers(self, chief, other):
    cluster = {other: ["o:1"], "worker": ["w:1", "w:2"], "ps": ["p:1"]}
    tasks = [("worker", 0), ("worker", 1), (other, 0), ("ps", 0)]
    if chief:
      cluster[chief] = ["c:1"]
      tasks.insert(0, (chief, 0))
    for expected, (job, index) in enumerate(tasks):
      if job != "evaluator":  # An evaluator has no number.
        config = _from_simple(cluster, job, index)
        self.assertEqual(config.global_id_in_cluster, expected)
        self.assertEqual(config.is_chief, expected == 0)
        self.assertEqual(config.num_worker_replicas, 3 if chief else 2)


class ChieflessTest(parameterized.TestCase):
  """Without a chief, worker 0 is the chief, as everywhere in tf.distribute."""

  @hypothesis.settings(max_examples=level.number(10, 40))
  @hypothesis.given(st.integers(1, 5), st.integers(0, 3), st.booleans())
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
        self.assertEqual(config.master, "" if cluster == {"worker": ["w:0"]}
                         else "grpc://" + cluster[job][index])
        ids.append(config.global_id_in_cluster)
        if job != "ps":
          self.assertEqual(
              ids[-1], multi_worker_util.id_in_cluster(cluster, job, index))
    self.assertEqual(ids, list(range(len(ids))))  # Parameter servers are last.

  def test_waits_for_no_other_worker(self):
    for index in 0, 2:
      self.assertEqual(
          ["/job:ps", f"/job:worker/task:{index}"], _from_simple(
              _CHIEFLESS, "worker", index).session_config.device_filters)

  def test_evaluator(self):
    for cluster in (_CHIEFLESS, dict(_CHIEFLESS, evaluator=["e:1"])):
      self.assertEqual(
          run_config_cases.attributes(_from_simple(cluster, "evaluator", 0)),
          _from_tf_config(_WITH_CHIEF, "evaluator", 0))

  @parameterized.named_parameters(("first", 0, True), ("last", 7, False))
  def test_sparse(self, index, is_chief):
    cluster = {"worker": {index: "w:1"}, "ps": ["p:1"]}
    config = _from_simple(cluster, "worker", index)
    self.assertEqual(config.is_chief, is_chief)
    self.assertEqual(config.num_worker_replicas, 1)
    self.assertEqual(config.global_id_in_cluster, index)
    self.assertEqual(config.master, "grpc://w:1")
    self.assertEqual(config.cluster_spec.task_indices("worker"), [index])


class ResolverTest(parameterized.TestCase):
  """What a resolver may answer."""

  def test_local(self):
    for answer in None, tf.train.ClusterSpec({}):
      config = run_config.RunConfig.from_cluster_resolver(_Resolver(answer))
      self.assertEqual(
          run_config_cases.attributes(config),
          _from_tf_config({}, "worker", 0))

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

  @parameterized.named_parameters(
      ("grpc", "grpc", "grpc://w:2"),
      ("other", "grpc+loas", "grpc+loas://w:2"),
      ("none", None, "grpc://w:2"),
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
    resolver.lock = threading.Lock()  # Cannot be copied or pickled.
    with mock.patch.object(
        resolver, "cluster_spec", wraps=resolver.cluster_spec) as cluster_spec:
      config = run_config.RunConfig.from_cluster_resolver(resolver)
      resolver.task_id = 2
      config = pickle.loads(pickle.dumps(config)).replace(model_dir="/a")
      self.assertEqual(config.task_id, 1)
      self.assertNotEmpty(config.cluster_spec.jobs)
      cluster_spec.assert_called_once_with()

  def test_its_own_error_passes(self):
    error = KeyError("SLURM_PROCID")
    with self.assertRaises(KeyError) as raised:
      run_config.RunConfig.from_cluster_resolver(_Resolver(error))
    self.assertIs(raised.exception, error)


class SlurmTest(absltest.TestCase):

  def test_as_with_tf_config(self):
    # The resolver answers through Slurm's variables, and numbers the tasks of
    # the jobs in the order of the jobs' names.
    cluster = {"chief": ["node0:2222"], "ps": ["node1:2222"],
               "worker": ["node2:2222", "node3:2222"]}
    hosts = [f"node{i}" for i in range(4)]
    # TensorFlow 1.15 asks this program of Slurm for the hosts.
    scontrol = self.create_tempfile(
        "scontrol", "#!/bin/sh\nprintf '%s\\n' " + " ".join(hosts) + "\n"
        ).full_path
    os.chmod(scontrol, 0o700)
    for rank, (job, index) in enumerate(
        [("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1)]):
      with mock.patch.dict(
          os.environ, SLURM_PROCID=str(rank), SLURM_NTASKS="4",
          PATH=os.path.dirname(scontrol) + os.pathsep + os.defpath,
          SLURM_NTASKS_PER_NODE="1", SLURM_STEP_NUM_TASKS="4",
          SLURM_STEP_NODELIST="node[0-3]", SLURM_STEP_TASKS_PER_NODE="1(x4)"):
        config = run_config.RunConfig.from_cluster_resolver(
            _resolvers.SlurmClusterResolver(
                {name: len(tasks) for name, tasks in cluster.items()},
                port_base=2222, gpus_per_node=1, gpus_per_task=1,
                auto_set_gpu=False))
      self.assertEqual(run_config_cases.attributes(config),
                       _from_tf_config(cluster, job, index))


_NO_TASK = ("resolver.task_type and resolver.task_id must .*, got %s: set "
            "resolver.task_type = 'worker' and resolver.task_id = 0")


class ErrorTest(parameterized.TestCase):

  def test_no_resolver(self):
    with self.assertRaisesRegex(
        TypeError,
        r"^resolver must be a tf\.distribute\.cluster_resolver\.ClusterResolver"
        ", got .+$"):
      run_config.RunConfig.from_cluster_resolver(_CHIEFLESS)

  @parameterized.named_parameters(
      ("empty_type", _CHIEFLESS, "", 1, _NO_TASK % "'' and 1"),
      ("no_id", _CHIEFLESS, "ps", None, _NO_TASK % "'ps' and None"),
      ("id_negative", _CHIEFLESS, "ps", -1,
       r"^resolver.task_id must be an integer >= 0 and < 2\*\*31, got -1$"),
      ("id_too_large", _CHIEFLESS, "ps", 2,
       "^resolver.task_id must be the index of a task of 'ps' in the cluster "
       "{'ps': 2, 'worker': 3}, got 2$"),
      ("type_not_in_cluster", _CHIEFLESS, "chief", 0,
       "^resolver.task_type must be 'evaluator' or a job of the cluster "
       "{'ps': 2, 'worker': 3}, got 'chief'$"),
      ("two_chiefs", {"chief": ["c:1", "c:2"]}, "chief", 0,
       r"^resolver.cluster_spec\(\)\['chief'\] must have one task, with index "
       r"0, got the indices \[0, 1\]$"),
      ("chief_and_master", {"chief": ["c:1"], "master": ["m:1"]}, "chief", 0,
       r"^resolver.cluster_spec\(\) must not have both a 'chief' and a "
       r"'master', got \['chief', 'master'\]$"),
      ("no_chief", {"ps": ["p:1"], "tpu": ["t:1"]}, "ps", 0,
       r"^resolver.cluster_spec\(\) must have one 'chief' or 'worker', got the "
       r"jobs \['ps', 'tpu'\]$"),
      ("no_workers", {"worker": [], "ps": ["p:1"]}, "ps", 0,
       r"^resolver.cluster_spec\(\)\['worker'\] must name a task, got none$"),
      ("local_ps", {}, "ps", 0,
       r"^resolver.task_type must be 'worker' without resolver.cluster_spec\(\)"
       ", got 'ps'$"),
  )
  def test_value(self, cluster, task_type, task_id, expected):
    with self.assertRaisesRegex(ValueError, expected) as raised:
      _from_simple(cluster, task_type, task_id)
    self.assertLen(str(raised.exception).split("\n"), 1)

  def test_the_error_of_a_missing_task_says_how_to_set_it(self):
    first = _Resolver(tf.train.ClusterSpec(_CHIEFLESS))
    union = _resolvers.UnionResolver(first, task_type="worker", task_id=0)
    for resolver in (first, union):
      with self.assertRaisesRegex(ValueError, "set them on its first resolver"):
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


if __name__ == "__main__":
  absltest.main()
