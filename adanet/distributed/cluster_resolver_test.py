# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of strategies on every kind of cluster resolver that TensorFlow has.

Slurm answers through its environment variables. Kubernetes, Compute Engine and
Cloud TPU cannot exist here, nor can their client libraries, so those resolvers
get an object in the client's place, as in TensorFlow's own tests, and the
resolver itself is real.
"""

import contextlib
import json
import os
import tempfile
import types
import urllib.error
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
import six

_resolvers = tf_compat.v2.distribute.cluster_resolver

_PORT = 2222

_SHAPES = {  # How many tasks each job has.
    "chief": {"chief": 1},
    "worker": {"worker": 1},
    "workers": {"worker": 4},
    "chief_workers": {"chief": 1, "worker": 3},
    "workers_ps": {"worker": 4, "ps": 3},
    "chief_workers_ps": {"chief": 1, "worker": 3, "ps": 3},
    "evaluator": {"chief": 1, "evaluator": 1, "ps": 2},
}


def _cluster(shape):
  """Returns {job: addresses}: the tasks as Slurm numbers them, one a host."""
  cluster, host = {}, 0
  for job, size in sorted(shape.items()):
    cluster[job] = [
        "node%d:%d" % (index, _PORT) for index in range(host, host + size)
    ]
    host += size
  return cluster


def _hosts(addresses):
  return [address.split(":")[0] for address in addresses]


# Each of these makes a resolver of a class for a cluster, {job: addresses}, and
# the task that asks. What must last as long as the resolver goes on the stack.


def _own(cls, stack, cluster, task_type, task_id):
  """What a user writes for a cluster manager that TensorFlow does not know."""
  del stack

  class Own(cls):

    def cluster_spec(self):
      return tf_compat.v1.train.ClusterSpec(cluster)

    def master(self, task_type=None, task_id=None, rpc_layer=None):
      return self.cluster_spec().task_address(task_type, task_id)

  resolver = Own()
  resolver.task_type = task_type
  resolver.task_id = task_id
  return resolver


def _tf_config(cls, stack, cluster, task_type, task_id):
  stack.enter_context(_environment(cluster, task_type, task_id))
  return cls()


def _environment(cluster, task_type, task_id):
  return mock.patch.dict(os.environ, TF_CONFIG=json.dumps({
      "cluster": cluster,
      "task": {"type": task_type, "index": task_id},
  }))


def _simple(cls, stack, cluster, task_type, task_id):
  del stack
  return cls(
      tf_compat.v1.train.ClusterSpec(cluster),
      task_type=task_type,
      task_id=task_id)


def _union_of(make, cluster, task_type, task_id):
  """Joins resolvers of one job each, which `make` makes; a task's own first."""
  jobs = sorted(cluster, key=lambda job: job != task_type)
  return _resolvers.UnionResolver(*[
      make(job, cluster[job], task_id if job == task_type else 0)
      for job in jobs
  ])


def _union(cls, stack, cluster, task_type, task_id):
  del cls, stack
  return _union_of(
      lambda job, addresses, task_id: _resolvers.SimpleClusterResolver(
          tf_compat.v1.train.ClusterSpec({job: addresses}),
          task_type=job, task_id=task_id),
      cluster, task_type, task_id)


def _slurm(cls, stack, cluster, task_type, task_id):
  hosts = _hosts(address for job in sorted(cluster) for address in cluster[job])
  rank = hosts.index(_hosts(cluster[task_type])[task_id])
  # TensorFlow 1.15 asks this program of Slurm's for the hosts.
  folder = stack.enter_context(tempfile.TemporaryDirectory())
  scontrol = os.path.join(folder, "scontrol")
  with open(scontrol, "w") as program:
    program.write("#!/bin/sh\nprintf '%s\\n' " + " ".join(hosts) + "\n")
  os.chmod(scontrol, 0o700)
  stack.enter_context(mock.patch.dict(
      os.environ,
      PATH=folder + os.pathsep + os.environ.get("PATH", os.defpath),
      SLURM_PROCID=str(rank),
      SLURM_NTASKS=str(len(hosts)),
      SLURM_NTASKS_PER_NODE="1",
      SLURM_STEP_NUM_TASKS=str(len(hosts)),
      SLURM_STEP_NODELIST="node[0-%d]" % (len(hosts) - 1),
      SLURM_STEP_TASKS_PER_NODE="1(x%d)" % len(hosts)))
  return cls(
      {job: len(tasks) for job, tasks in cluster.items()},
      port_base=_PORT,
      gpus_per_node=1,
      gpus_per_task=1,
      auto_set_gpu=False)


def _kubernetes(cls, stack, cluster, task_type, task_id, phase="Running"):
  del stack

  class Client(object):
    """Stands for kubernetes.client.CoreV1Api."""

    def list_pod_for_all_namespaces(self, label_selector):
      job = label_selector[len("job-name="):]
      return types.SimpleNamespace(items=[
          types.SimpleNamespace(
              metadata=types.SimpleNamespace(name="%s-%d" % (job, index)),
              status=types.SimpleNamespace(phase=phase, host_ip=host))
          for index, host in enumerate(_hosts(cluster[job]))
      ])

  resolver = cls(
      {job: ["job-name=" + job] for job in cluster},
      tf_server_port=_PORT,
      override_client=Client())
  resolver.task_type = task_type
  resolver.task_id = task_id
  return resolver


def _gce(cls, stack, cluster, task_type, task_id):
  """An instance group is one job, so a cluster of more is a union."""
  del stack

  def make(job, addresses, task_id):
    # Stands for googleapiclient.discovery.build("compute", "v1").
    service = mock.Mock()
    groups = service.instanceGroups.return_value
    groups.listInstances.return_value.execute.return_value = {
        "items": [{"instance": "zones/z/" + host} for host in _hosts(addresses)]
    }
    groups.listInstances_next.return_value = None
    service.instances.return_value.get = lambda project, zone, instance: (
        mock.Mock(**{"execute.return_value": {
            "networkInterfaces": [{"networkIP": instance}]
        }}))
    return cls("project", "z", job + "-group", _PORT, task_type=job,
               task_id=task_id, credentials=None, service=service)

  if len(cluster) == 1:
    return make(task_type, cluster[task_type], task_id)
  return _union_of(make, cluster, task_type, task_id)


def _tpu(cls, stack, cluster, task_type, task_id, state="READY", **kwargs):
  """A TPU is one job (and a coordinator), so a cluster of more is a union."""
  # TensorFlow 1.15 looks for the metadata server of Compute Engine.
  stack.enter_context(mock.patch.object(
      six.moves.urllib.request, "urlopen",
      side_effect=urllib.error.URLError("not on Compute Engine")))

  def make(job, addresses, task_id):
    # Stands for googleapiclient.discovery.build("tpu", "v1").
    service = mock.Mock()
    nodes = service.projects.return_value.locations.return_value.nodes
    nodes.return_value.get.return_value.execute.return_value = {
        "state": state,
        "networkEndpoints": [{"ipAddress": host, "port": _PORT}
                             for host in _hosts(addresses)],
    }
    resolver = cls("tpu", zone="z", project="project", job_name=job,
                   service=service, **kwargs)
    resolver.task_id = task_id
    return resolver

  if len(cluster) == 1:
    return make(task_type, cluster[task_type], task_id)
  return _union_of(make, cluster, task_type, task_id)


_KINDS = {
    "ClusterResolver": _own,
    "GCEClusterResolver": _gce,
    "KubernetesClusterResolver": _kubernetes,
    "SimpleClusterResolver": _simple,
    "SlurmClusterResolver": _slurm,
    "TFConfigClusterResolver": _tf_config,
    "TPUClusterResolver": _tpu,
    "UnionResolver": _union,
}


def _config_of_tf_config(cluster, task_type, task_id):
  """Returns the RunConfig of the same task of a cluster, from TF_CONFIG.

  As TF_CONFIG must name a chief, worker 0 is called that where none is.
  """
  if "chief" not in cluster:
    cluster = dict(
        cluster, chief=cluster["worker"][:1], worker=cluster["worker"][1:])
    cluster = {job: tasks for job, tasks in cluster.items() if tasks}
    if task_type == "worker":
      task_type, task_id = (
          ("worker", task_id - 1) if task_id else ("chief", 0))
  with _environment(cluster, task_type, task_id):
    return tf_compat.RunConfig()


def _answer(fn, *args):
  """Returns what a decision is, or the text of its error."""
  try:
    return fn(*args)
  except ValueError as error:  # A parameter server is no worker.
    return repr(error)


def _answers(config):
  """Returns all that a RoundRobinStrategy decides for a task."""
  answers = []
  for drop_remainder in (False, True):
    strategy = distributed.RoundRobinStrategy(drop_remainder=drop_remainder)
    strategy.config = config
    for k in range(1, 7):
      answers.append(_answer(strategy.should_build_ensemble, k))
      answers.append(_answer(strategy.should_train_subnetworks, k))
      answers.extend(
          _answer(strategy.should_build_subnetwork, k, i) for i in range(k))
  with tf_compat.v1.Graph().as_default():
    for i in range(2):
      with strategy.subnetwork_devices(2, i):
        answers.append(
            tf_compat.v1.get_variable("w%d" % i, shape=[]).device)
  return answers


class ClusterResolverTest(parameterized.TestCase):

  def _make(self, kind, cluster, task_type, task_id, **kwargs):
    """Returns a resolver; it works until the test ends."""
    stack = contextlib.ExitStack()
    self.addCleanup(stack.close)
    return _KINDS[kind](
        self._class(kind), stack, cluster, task_type, task_id, **kwargs)

  def _class(self, kind):
    if not hasattr(_resolvers, kind):
      self.skipTest("This TensorFlow has no " + kind)
    return getattr(_resolvers, kind)

  def test_every_kind_is_here(self):
    v1 = tf_compat.v1.distribute.cluster_resolver
    for module in (v1, _resolvers):
      names = {name for name in dir(module) if name.endswith("Resolver")}
      self.assertNotEmpty(names)
      self.assertContainsSubset(names, _KINDS)
      for name in names:
        self.assertIs(getattr(module, name), getattr(_resolvers, name))

  @parameterized.product(kind=sorted(_KINDS), shape=sorted(_SHAPES))
  def test_as_with_tf_config(self, kind, shape):
    cluster = _cluster(_SHAPES[shape])
    for task_type, tasks in sorted(cluster.items()):
      for task_id in range(len(tasks)):
        with self.subTest(task_type=task_type, task_id=task_id):
          resolver = self._make(kind, cluster, task_type, task_id)
          config = tf_compat.RunConfig.from_cluster_resolver(resolver)
          expected = _config_of_tf_config(cluster, task_type, task_id)
          for name in ("is_chief", "num_worker_replicas", "num_ps_replicas",
                       "global_id_in_cluster", "master", "evaluation_master",
                       "service", "model_dir"):
            self.assertEqual(
                getattr(config, name), getattr(expected, name), name)
          self.assertEqual(config.task_type, task_type)
          self.assertEqual(config.task_id, task_id)
          self.assertEqual(
              config.cluster_spec.as_dict(),
              {} if task_type == "evaluator" else cluster)
          if "chief" in cluster:
            self.assertEqual(config.session_config, expected.session_config)
          answers = _answers(config)
          self.assertEqual(answers, _answers(expected))
          if task_type in ("chief", "worker"):
            self.assertNotIn("Error", str(answers))

  @parameterized.parameters(
      "ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver",
      "UnionResolver", "TPUClusterResolver")
  def test_local(self, kind):
    cls = self._class(kind)
    if kind == "TPUClusterResolver":
      with mock.patch.object(
          six.moves.urllib.request, "urlopen",
          side_effect=urllib.error.URLError("not on Compute Engine")):
        resolver = cls("local")
    elif kind == "UnionResolver":
      resolver = cls(self._make("SimpleClusterResolver", {}, None, None))
    else:
      resolver = self._make(kind, {}, "worker", 0)
    with tf_compat.v1.Graph().as_default():  # Where 1.15 calls a TPU local.
      config = tf_compat.RunConfig.from_cluster_resolver(resolver)
    with mock.patch.dict(os.environ, TF_CONFIG="{}"):
      expected = tf_compat.RunConfig()
    self.assertEqual(repr(config), repr(expected))
    self.assertEqual(_answers(config), _answers(expected))

  def test_coordinator_of_a_tpu(self):
    cluster = _cluster({"worker": 4})
    for index in range(4):
      resolver = self._make(
          "TPUClusterResolver", cluster, "worker", index,
          coordinator_name="coordinator", coordinator_address="node9:2222")
      config = tf_compat.RunConfig.from_cluster_resolver(resolver)
      self.assertEqual(
          config.cluster_spec.as_dict(),
          dict(cluster, coordinator=["node9:2222"]))
      self.assertEqual(
          _answers(config),
          _answers(_config_of_tf_config(cluster, "worker", index)))

  def test_kubernetes_does_not_know_the_task(self):
    cluster = _cluster({"worker": 4})
    resolver = self._make("KubernetesClusterResolver", cluster, None, None)
    with self.assertRaisesRegex(
        ValueError, "got None and None: set resolver.task_type = 'worker'"):
      tf_compat.RunConfig.from_cluster_resolver(resolver)
    resolver.task_type = "worker"
    resolver.task_id = 2
    config = tf_compat.RunConfig.from_cluster_resolver(resolver)
    self.assertEqual(config.global_id_in_cluster, 2)

  @parameterized.parameters(
      ("KubernetesClusterResolver", {"phase": "Pending"}, 'phase: "Pending"'),
      ("TPUClusterResolver", {"state": "CREATING"}, 'state: "CREATING"'),
  )
  def test_error_of_the_cluster_manager_passes(self, kind, kwargs, expected):
    resolver = self._make(kind, _cluster({"worker": 2}), "worker", 0, **kwargs)
    with self.assertRaisesRegex(RuntimeError, expected):
      tf_compat.RunConfig.from_cluster_resolver(resolver)


if __name__ == "__main__":
  absltest.main()
