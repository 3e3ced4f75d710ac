# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks that a process keeps for later.

Tracing takes longer than training on few rows. So an ended network lends its
traced model to the next network of the function, in another fold or iteration,
if the config and the variables are all of the model: a functional or Sequential
model of Keras's own layers. Any other model is traced again.
"""

from typing import Any

from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib


# Networks that lend their models, and the parameters of all kept networks.
_MAX_NETWORKS = 16
_MAX_PARAMETERS = 10**7


class KeptNetworks:
  """Networks that were built ahead, or that have ended and lend their models.

  All of them together have a limited number of parameters.
  """

  def __init__(self) -> None:
    self._new: dict[records.NetworkKey, network_lib.Network] = {}
    self._ended: list[tuple[Any, network_lib.Network]] = []

  def _is_full(self, *more):
    networks = (*self._new.values(), *(network for _, network in self._ended))
    return sum(network.model.count_params()
               for network in (*networks, *more)) > _MAX_PARAMETERS

  def add_new(self, network: network_lib.Network) -> None:
    """Keeps a network that was built ahead, if there is room."""
    while self._ended and self._is_full(network):
      self._ended.pop(0)
    if not self._new or not self._is_full(network):
      self._new[network.task.key] = network

  def add_ended(self, group: Any, network: network_lib.Network) -> None:
    """Keeps a network for later networks of a group, if these may borrow."""
    task = network.task
    # A callback may have changed anything in the model. No other network has
    # the architecture of a trial, except in other folds.
    if network.config is not None and task.training.callbacks is None and (
        task.key.folds > 1 or not task.key.trial):
      self._ended.append((group, network))
    while len(self._ended) > _MAX_NETWORKS or self._ended and self._is_full():
      self._ended.pop(0)

  def may_train_on(self, device: str | None, key: records.NetworkKey) -> bool:
    """Returns whether a network was not built ahead on another device."""
    return key not in self._new or self._new[key].device == device

  def build(self, group: Any, task: tasks_lib.NetworkTask, split: Any,
            device: str | None) -> network_lib.Network:
    """Returns the network of a task: built ahead, with a lent model, or new."""
    return self._new.pop(task.key, None) or self.borrow(
        group, task, split, device) or network_lib.Network(task, split, device)

  def borrow(self, group: Any, task: tasks_lib.NetworkTask, split: Any,
             device: str | None) -> network_lib.Network | None:
    """Returns an ended network that begins anew for a task, or None.

    The network was on the same device: its variables cannot move.
    """
    for i, (other, network) in enumerate(self._ended):
      if other == group and network.device == device and network.layouts == (
          split.layout(), split.held_out.layout(network.check_size)):
        self._ended.pop(i)
        return network if network.reuse(task, split) else None
    return None
