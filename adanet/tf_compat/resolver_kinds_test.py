# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `RunConfig` on every kind of cluster resolver that TensorFlow has.

Slurm answers through its environment variables. The resolvers of Kubernetes,
Compute Engine and Cloud TPU are real, but they talk to a fake client, as in
TensorFlow's own tests.
"""

import json
import os
import types
import urllib.error
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
import six

_resolvers = tf_compat.v2.distribute.cluster_resolver

_PORT = 2222

_SHAPES = (  # How many tasks each job has.
    {"chief": 1},
    {"worker": 4, "ps": 3},
    {"chief": 1, "worker": 3, "ps": 2},
    {"chief": 1, "evaluator": 1, "ps": 2},
)


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
# a task of it. It may change the environment until the test ends.


def _slurm(test, cls, cluster, task_type, task_id):
  hosts = _hosts(address for job in sorted(cluster) for address in cluster[job])
  rank = hosts.index(_hosts(cluster[task_type])[task_id])
  # TensorFlow 1.15 asks this program of Slurm for the hosts.
  scontrol = test.create_tempfile(
      os.path.join(hosts[-1], "scontrol"),
      "#!/bin/sh\nprintf '%s\\n' " + " ".join(hosts) + "\n").full_path
  os.chmod(scontrol, 0o700)
  test.set_environment(
      PATH=os.path.dirname(scontrol) + os.pathsep + os.defpath,
      SLURM_PROCID=str(rank),
      SLURM_NTASKS=str(len(hosts)),
      SLURM_NTASKS_PER_NODE="1",
      SLURM_STEP_NUM_TASKS=str(len(hosts)),
      SLURM_STEP_NODELIST="node[0-%d]" % (len(hosts) - 1),
      SLURM_STEP_TASKS_PER_NODE="1(x%d)" % len(hosts))
  return cls(
      {job: len(tasks) for job, tasks in cluster.items()},
      port_base=_PORT,
      gpus_per_node=1,
      gpus_per_task=1,
      auto_set_gpu=False)


def _kubernetes(test, cls, cluster, task_type, task_id, phase="Running"):
  del test

  class CoreV1Api:
    """The part of that class of Kubernetes's client that is needed."""

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
      override_client=CoreV1Api())
  resolver.task_type = task_type
  resolver.task_id = task_id
  return resolver


def _union_of_jobs(make):
  """Returns a maker for a class whose resolvers know a single job each.

  Args:
    make: a function that makes one of a class, a job, its addresses and the ID
      of a task.
  """

  def make_all(test, cls, cluster, task_type, task_id, **kwargs):
    del test
    resolvers = [  # The first one says which task this is.
        make(cls, job, cluster[job], task_id if job == task_type else 0,
             **kwargs)
        for job in sorted(cluster, key=lambda job: job != task_type)
    ]
    if len(resolvers) == 1:
      return resolvers[0]
    return _resolvers.UnionResolver(*resolvers)

  return make_all


@_union_of_jobs
def _gce(cls, job, addresses, task_id):
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


@_union_of_jobs
def _tpu(cls, job, addresses, task_id, state="READY", **kwargs):
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


# A resolver of the user, SimpleClusterResolver, TFConfigClusterResolver and
# UnionResolver are in cluster_resolver_test.
_OTHERS = {"ClusterResolver", "SimpleClusterResolver",
           "TFConfigClusterResolver", "UnionResolver"}
_KINDS = {
    "GCEClusterResolver": _gce,
    "KubernetesClusterResolver": _kubernetes,
    "SlurmClusterResolver": _slurm,
    "TPUClusterResolver": _tpu,
}


class ClusterResolverTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    # TensorFlow 1.15's TPUs look for the metadata server of Compute Engine.
    self.enter_context(mock.patch.object(
        six.moves.urllib.request, "urlopen",
        side_effect=urllib.error.URLError("not on Compute Engine")))

  def set_environment(self, **variables):
    self.enter_context(mock.patch.dict(os.environ, **variables))

  def set_tf_config(self, cluster, task_type, task_id):
    self.set_environment(TF_CONFIG=json.dumps({
        "cluster": cluster,
        "task": {"type": task_type, "index": task_id},
    }))

  def make(self, kind, cluster, task_type, task_id, **kwargs):
    """Returns a resolver that works until the test or the next call."""
    if not hasattr(_resolvers, kind):
      self.skipTest("this TensorFlow has no " + kind)
    return _KINDS[kind](self, getattr(_resolvers, kind), cluster, task_type,
                        task_id, **kwargs)

  def config_of_tf_config(self, cluster, task_type, task_id):
    """Returns the RunConfig of the same task of a cluster, from TF_CONFIG.

    TF_CONFIG must name a chief, so this calls worker 0 that if there is none.
    """
    if "chief" not in cluster:
      cluster = dict(
          cluster, chief=cluster["worker"][:1], worker=cluster["worker"][1:])
      cluster = {job: tasks for job, tasks in cluster.items() if tasks}
      if task_type == "worker":
        task_type, task_id = (
            ("worker", task_id - 1) if task_id else ("chief", 0))
    self.set_tf_config(cluster, task_type, task_id)
    return tf_compat.RunConfig()

  def test_every_kind_is_here(self):
    v1 = tf_compat.v1.distribute.cluster_resolver
    for module in (v1, _resolvers):
      names = {name for name in dir(module) if name.endswith("Resolver")}
      self.assertNotEmpty(names)
      self.assertContainsSubset(names, _OTHERS.union(_KINDS))
      for name in names:
        self.assertIs(getattr(module, name), getattr(_resolvers, name))

  @parameterized.product(kind=sorted(_KINDS), shape=_SHAPES)
  def test_as_with_tf_config(self, kind, shape):
    cluster = _cluster(shape)
    for task_type, task_id in [
        (job, index) for job in cluster for index in range(shape[job])]:
      with self.subTest(task_type=task_type, task_id=task_id):
        config = tf_compat.RunConfig.from_cluster_resolver(
            self.make(kind, cluster, task_type, task_id))
        expected = self.config_of_tf_config(cluster, task_type, task_id)
        for name in ("is_chief", "num_worker_replicas", "num_ps_replicas",
                     "global_id_in_cluster", "master", "evaluation_master",
                     "service", "model_dir"):
          self.assertEqual(getattr(config, name), getattr(expected, name), name)
        self.assertEqual((config.task_type, config.task_id),
                         (task_type, task_id))
        self.assertEqual(
            config.cluster_spec.as_dict(),
            {} if task_type == "evaluator" else cluster)
        if "chief" in cluster:
          self.assertEqual(config.session_config, expected.session_config)

  def test_coordinator_of_a_tpu(self):
    cluster = _cluster({"worker": 4})
    resolver = self.make(
        "TPUClusterResolver", cluster, "worker", 2,
        coordinator_name="coordinator", coordinator_address="node9:2222")
    config = tf_compat.RunConfig.from_cluster_resolver(resolver)
    self.assertEqual(
        config.cluster_spec.as_dict(),
        dict(cluster, coordinator=["node9:2222"]))
    self.assertEqual(2, config.global_id_in_cluster)

  @parameterized.parameters(
      ("KubernetesClusterResolver", {"phase": "Pending"}, 'phase: "Pending"'),
      ("TPUClusterResolver", {"state": "CREATING"}, 'state: "CREATING"'),
  )
  def test_error_of_the_cluster_manager_passes(self, kind, kwargs, expected):
    resolver = self.make(kind, _cluster({"worker": 2}), "worker", 0, **kwargs)
    with self.assertRaisesRegex(RuntimeError, expected):
      tf_compat.RunConfig.from_cluster_resolver(resolver)


if __name__ == "__main__":
  absltest.main()
