# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Strategies and configs of tests."""

import collections
import random

from adanet import distributed

# Configs with all that a strategy reads, with the worker's place only, and with
# the parameter servers only.
Config = collections.namedtuple(
    "Config", "num_worker_replicas num_ps_replicas global_id_in_cluster")
WorkerConfig = collections.namedtuple(
    "WorkerConfig", "num_worker_replicas global_id_in_cluster")
PsConfig = collections.namedtuple("PsConfig", "num_ps_replicas")

# The attributes of an op that an OpNameHashStrategy reads.
Op = collections.namedtuple("Op", "name")


def round_robin(config, **kwargs):
  """Returns a `RoundRobinStrategy` with a config, made with `kwargs`."""
  strategy = distributed.RoundRobinStrategy(**kwargs)
  strategy.config = config
  return strategy


def worker(num_workers, worker_index, drop_remainder=False):
  """Returns the `RoundRobinStrategy` of a worker."""
  return round_robin(WorkerConfig(num_workers, worker_index),
                     drop_remainder=drop_remainder)


def balanced(config, **kwargs):
  """Returns a `BalancedStrategy` with a config, made with `kwargs`."""
  strategy = distributed.BalancedStrategy(**kwargs)
  strategy.config = config
  return strategy


def viewing(base, view):
  """Returns a subclass of a strategy that sees another config than it has.

  Args:
    base: class of strategies.
    view: function from the config to the one that it sees.
  """

  class Viewing(base):

    @property
    def config(self):
      return view(super().config)

    @config.setter
    def config(self, config):
      distributed.PlacementStrategy.config.fset(self, config)

  return Viewing


class Custom(distributed.PlacementStrategy):
  """A strategy of a user's own: each decision is a function of the config."""

  def __init__(self, builds_ensemble, builds_subnetwork, trains,
               parameter_servers=lambda config, i: None):
    """Makes a strategy.

    Args:
      builds_ensemble: function of the config that returns bool.
      builds_subnetwork: function of the config and a subnetwork's index that
        returns bool.
      trains: function of the config that returns bool.
      parameter_servers: function of the config and a subnetwork's index that
        returns the indices of its parameter servers, or None for unknown.
    """
    self._builds_ensemble = builds_ensemble
    self._builds_subnetwork = builds_subnetwork
    self._trains = trains
    self._parameter_servers = parameter_servers

  def should_build_ensemble(self, num_subnetworks):
    return self._builds_ensemble(self.config)

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    return self._builds_subnetwork(self.config, subnetwork_index)

  def should_train_subnetworks(self, num_subnetworks):
    return self._trains(self.config)

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    return self._parameter_servers(self.config, subnetwork_index)


def arbitrary(seed, says_ps=False):
  """Returns a strategy with arbitrary decisions.

  Args:
    seed: int. The decisions depend on it and on the config alone.
    says_ps: bool, whether the strategy says where its variables are.
  """

  def draw(config, *key):
    return random.Random(
        repr((seed, config.num_worker_replicas, config.num_ps_replicas) + key))

  def parameter_servers(config, i):
    if not says_ps:
      return None
    indices = draw(config, "ps", i % 4)
    return [
        p for p in range(config.num_ps_replicas) if indices.random() < .5
    ]

  def worker(config):
    return config.global_id_in_cluster

  return Custom(
      lambda config: draw(config, "ensemble", worker(config)).random() < .3,
      lambda config, i: draw(  # Some workers build the same.
          config, "build", worker(config) % 5, i).random() < .4,
      lambda config: draw(config, "train", worker(config)).random() < .7,
      parameter_servers)


class Delegate(distributed.PlacementStrategy):
  """A strategy of a user's own that asks another and gives it its config."""

  def __init__(self, other):
    self.other = other

  @property
  def config(self):
    return self.other.config

  @config.setter
  def config(self, config):
    self.other.config = config

  def should_build_ensemble(self, *args):
    return self.other.should_build_ensemble(*args)

  def should_build_subnetwork(self, *args):
    return self.other.should_build_subnetwork(*args)

  def should_train_subnetworks(self, *args):
    return self.other.should_train_subnetworks(*args)

  def subnetwork_devices(self, *args):
    return self.other.subnetwork_devices(*args)

  def subnetwork_parameter_servers(self, *args):
    return self.other.subnetwork_parameter_servers(*args)

  def __repr__(self):
    return repr(self.other)
