# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network that has ended lends its traced model to the next of its function.

Tracing takes longer than training on few rows. A functional or Sequential model
of Keras's own layers is its config and its variables, so the next network of
the function, in another fold or iteration, can train the same model with other
values. Any other model is traced again.
"""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import devices
from adanet.ensemble_search import digests
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import network as network_lib

keras = tf_compat.keras_3
_MAX_NETWORKS, _MAX_PARAMETERS = 16, 10**7


class EndedNetworks:
  """Networks of a process that have ended, by their functions."""

  def __init__(self) -> None:
    self._networks: list[tuple[Any, network_lib.Network]] = []

  def add(self, key: Any, network: network_lib.Network) -> None:
    """Keeps a network that has ended, for others of the same key."""
    # A callback may have changed anything in the model.
    if network.config is not None and network.task.callbacks is None:
      self._networks.append((key, network))
    while len(self._networks) > _MAX_NETWORKS or sum(
        network.model.count_params()
        for _, network in self._networks) > _MAX_PARAMETERS:
      self._networks.pop(0)

  def borrow(self, key: Any, task: network_lib.NetworkTask, data: Any,
             device: str | None) -> network_lib.Network | None:
    """Returns a network that begins anew for a task; None if there is none.

    The network was on the same device: its variables cannot move.
    """
    for i, (other, network) in enumerate(self._networks):
      if other == key and network.device == device and network.layouts == (
          data.layout(), data.held_out.layout(network.check_size)):
        self._networks.pop(i)
        return network if _begin_anew(network, task, data) else None
    return None


def _begin_anew(network, task, data):
  """Gives a network the values of a new model, if the configs are equal."""
  with devices.scope(network.device), task.seeded():
    model = task.build_model()
    if network.config != digests.config_of_keras(model):
      return False
    if not model.built:
      model(ensemble_model.inputs(data.layout(), [model]))
  network.begin_anew(task, data, list(map(
      keras.ops.convert_to_numpy, model.variables)))
  return True
