# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network that has ended lends its model to another one of its function.

To trace a model takes longer than to train it on few rows: in a search with
folds, every fourth second. So the next network of a function, in another fold
or iteration, gets its own values, and the model that was traced. The figures
are those of a model of its own, to the last bit: where that is not sure, the
network is traced.
"""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import rows as rows_lib

keras = tf_compat.keras_3
_MAX_NETWORKS, _MAX_VALUES = 16, 10**7


class EndedNetworks:
  """Networks of a process that have ended, by their functions."""

  def __init__(self) -> None:
    self._networks: list[tuple[Any, network_lib.Network]] = []

  def add(self, key: Any, network: network_lib.Network) -> None:
    """Keeps a network that has ended, for others of the same key."""
    if _is_traced_alike(network):
      self._networks.append((key, network))
    while len(self._networks) > _MAX_NETWORKS or sum(
        one.model.count_params() for _, one in self._networks) > _MAX_VALUES:
      self._networks.pop(0)

  def taken(self, key: Any, task: network_lib.NetworkTask, data: Any,
            device: str | None) -> network_lib.Network | None:
    """Returns a network that begins anew for a task; None if there is none.

    It was on the same device: its variables cannot move.
    """
    for i, (other, network) in enumerate(self._networks):
      if other == key and network.device == device and network.layouts == (
          data.layout(), data.held_out.layout(network.check_size)):
        self._networks.pop(i)
        return network if _begins_anew(network, task, data) else None
    return None


def _is_traced_alike(network):
  """Returns whether the model's functions are those of any seed."""
  model = network.model
  # A callback may have changed anything in the model.
  if not network.drew_seeds_alone or model.run_eagerly or (
      network.task.callbacks is not None) or not all(
          rows_lib.is_of_keras(model, name)
          for name in ("train_step", "test_step")):
    return False
  known = {id(one.value.handle) for one in (
      *model.variables, *model.metrics_variables, *model.optimizer.variables)}
  steps = network.steps
  for function in (steps.check, steps.train, steps.predict):
    # Else there are states that no list of Keras has.
    if any(one.dtype == tf_compat.v2.resource and id(one) not in known
           for one in function.captured_inputs):
      return False
    graph = function.graph.as_graph_def()
    if any("seed2" in node.attr or "PyFunc" in node.op
           for nodes in (graph.node, *(
               one.node_def for one in graph.library.function))
           for node in nodes):
      return False
  return True


def _begins_anew(network, task, data):
  """Gives a network the values of a new model; returns whether that is right.
  """
  with devices.scope(network.device), task.seeded() as drew_seeds_alone:
    model = task.made()
    architecture = digests.Digest().of_model(model, task.function)
    if not model.built:
      model(ensemble_model.inputs(data.layout(), [model]))
    if not drew_seeds_alone():
      return False
  if network.architecture != architecture or [
      (one.shape, one.dtype) for one in network.model.variables] != [
          (one.shape, one.dtype) for one in model.variables]:
    return False
  network.begin_anew(task, data, [
      keras.ops.convert_to_numpy(one) for one in model.variables])
  return True
