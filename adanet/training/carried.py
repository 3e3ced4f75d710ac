# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Variables of earlier iterations that a checkpoint has, and its graph has not.

Where nothing needs the networks of earlier iterations in a graph that trains,
their variables go from one checkpoint to the next without them.
"""

import collections
import re
from typing import Any, DefaultDict, Iterable, List, Mapping, Sequence, Tuple

from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import graph_parts
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import saveables
from adanet.training import sessions

_ITERATION = re.compile(r"adanet/iteration_(\d+)/")

_Winners = Sequence[Tuple[int, architecture_lib.Architecture]]


def network_scope(number: int, name: str) -> str:
  """Returns the beginning of the names of a subnetwork's variables."""
  return f"adanet/iteration_{number}/subnetwork_t{number}_{name}/"


def _of_network(scope, stored, known):
  """Returns the names of a network's variables in a checkpoint.

  Args:
    scope: see `network_scope`.
    stored: the names in the checkpoint.
    known: of the network's variables; the rest are its optimizer's. Empty if
      they are not known.
  """
  own = [name for name in stored if name.startswith(scope)]
  # A checkpoint of AdaNet 0.8 may have other names.
  return [name for name in own if name in known] if (
      known and known.issubset(own)) else own


def names(stored: Iterable[str], in_graph: Iterable[str], number: int,
          winners: _Winners,
          known: Mapping[Tuple[int, str], Iterable[str]]) -> List[str]:
  """Returns the names of the variables to carry, in order.

  Args:
    stored: the names of a checkpoint's variables.
    in_graph: the names of the graph's variables.
    number: int, the iteration of the graph.
    winners: pairs of an earlier iteration and its winner's `Architecture`.
    known: dict from the name of a network to the names of its variables
      without its optimizer's, where that is known.
  """
  left = set(stored).difference(in_graph)
  carried = {name for name in left if not _ITERATION.match(name)}
  for earlier, architecture in winners:
    if earlier < number:
      scope = f"adanet/iteration_{earlier}/"
      ensemble = graph_parts.ensemble_name(
          earlier, architecture.ensemble_candidate_name,
          architecture.ensembler_name)
      carried.update(name for name in left if name.startswith(
          (f"{scope}candidate_", f"{scope}ensemble_{ensemble}/")))
      for builder in architecture.subnetworks_of(earlier):
        carried.update(_of_network(
            network_scope(earlier, builder), left,
            set(known.get((earlier, builder), ()))))
  return sorted(carried)


class Carried:
  """Values of a checkpoint that each later one has, too."""

  def __init__(self, checkpoint: str, winners: _Winners, number: int,
               known: Mapping[Tuple[int, str], Iterable[str]]):
    """Adds them to the default graph, for each saver that is built later.

    Make it when the graph has all of its variables.

    Args:
      checkpoint: str, its prefix.
      winners: see `names`.
      number: see `names`.
      known: see `names`.
    """
    v1 = tf_compat.v1
    self._load: List[Any] = []
    reader = checkpoint_file.reader(checkpoint)
    shapes = reader.get_variable_to_shape_map()
    dtypes = reader.get_variable_to_dtype_map()
    carried = names(shapes, sessions.saved_names(), number, winners, known)
    if not carried:
      return
    values = v1.raw_ops.RestoreV2(
        prefix=checkpoint_file.readable(checkpoint), tensor_names=carried,
        shape_and_slices=[""] * len(carried),
        dtypes=[dtypes[name] for name in carried])
    by_device: DefaultDict[str, Tuple[List[str], List[Any]]] = (
        collections.defaultdict(lambda: ([], [])))
    # A `Variable` of each would take a dozen ops.
    for name, value in zip(carried, values):
      handle = v1.raw_ops.VarHandleOp(
          dtype=dtypes[name], shape=shapes[name], shared_name=name)
      self._load.append(v1.raw_ops.AssignVariableOp(
          resource=handle, value=value))
      of_device = by_device[handle.device]
      of_device[0].append(name)
      of_device[1].append(v1.raw_ops.ReadVariableOp(
          resource=handle, dtype=dtypes[name]))
    for some, tensors in by_device.values():
      saveables.add(some, tensors)

  def load(self, session: Any) -> None:
    """Reads them from the checkpoint."""
    session.run(self._load)
