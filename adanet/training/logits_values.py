# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The logits of networks on the evaluator's data, as values."""

import io
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from adanet import ensemble as ensemble_lib
from adanet import tf_compat
from adanet.core import fingerprint
from adanet.tf_compat import files
import numpy as np

Network = Tuple[int, str]
"""The name of a network: its iteration, and its builder's name."""

InputPath = Tuple[Any, ...]
"""Where a tensor of a batch is: ("labels",), or ("features", "weight")."""


class RecordedBatch(NamedTuple):
  """A batch of the evaluator's data.

  Attributes:
    size: int, the number of its examples.
    digest: str, of the values that the head's loss needs of them.
  """
  size: int
  digest: str


class RecordedLogits(NamedTuple):
  """The logits of some networks, on the same examples in the same order.

  Attributes:
    members: dict from the name of each network to its `Member`, the
      previous ensemble's first.
    previous: `Member` with the logits of the previous ensemble, and its
      complexity regularization as the complexity; None without one.
    inputs: dict from a path to an array of shape [n, ...], or to a
      `SparseTensorValue`: the arguments of the head's loss beside logits.
    batches: tuple of `RecordedBatch`.
    features: tuple with a digest of all tensors of each batch; empty where
      nothing asks for it.
    variables: dict from the name of each network to the names of its variables,
      without those of its optimizer; of some networks only.
    graphs: dict of the networks' graphs; see `Iteration`.
  """
  members: Dict[Network, ensemble_lib.Member]
  previous: Optional[ensemble_lib.Member]
  inputs: Dict[InputPath, Any]
  batches: Tuple[RecordedBatch, ...]
  features: Tuple[str, ...] = ()
  variables: Dict[Network, Tuple[str, ...]] = {}
  graphs: Dict[str, fingerprint.Graph] = {}


def write_array(path: str, array: Any) -> None:
  """Writes an array as float32.

  Args:
    path: str. Its folder is made.
    array: of numbers.
  """
  with files.written_whole(path) as temporary:
    with tf_compat.v1.io.gfile.GFile(temporary, "wb") as f:
      np.save(f, np.asarray(array, np.float32))


def mapped(path: str) -> Any:
  """Returns an array of a file, which is not read before it is used.

  Args:
    path: str.

  Raises:
    EOFError, OSError, ValueError, tf.errors.OpError: it cannot be read.
  """
  if "://" not in path:
    return np.load(path, mmap_mode="r")
  with tf_compat.v1.io.gfile.GFile(path, "rb") as f:
    return np.load(io.BytesIO(f.read()))


def other_data_error(who: str, batch: int) -> ValueError:
  """Returns the error of data that differs from the recorded data.

  Args:
    who: str, the networks or the part that saw different data.
    batch: int, the first batch that differs, from 0.
  """
  return ValueError(
      f"evaluator.input_fn: {who} got another batch {batch} than others before."
      " Fitted ensembles need the same examples in the same order each time: "
      "do not shuffle, or shuffle with a seed")


def merged(recordings: Sequence[RecordedLogits]) -> RecordedLogits:
  """Returns the networks of several recordings as one.

  Args:
    recordings: each `RecordedLogits`, at least one. A member of several is
      taken from the first one.

  Raises:
    ValueError: they were recorded on other data, or in another order.
  """
  first = recordings[0]
  members: Dict[Network, ensemble_lib.Member] = {}
  variables: Dict[Network, Tuple[str, ...]] = {}
  graphs: Dict[str, fingerprint.Graph] = {}
  for recording in reversed(recordings):
    for own, of_first in ((recording.batches, first.batches),
                          (recording.features, first.features)):
      if own != of_first and own and of_first:
        pairs = list(zip(own, of_first))
        raise other_data_error(
            ", ".join(f"t{t}_{name}" for t, name in recording.members),
            next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs)))
    members.update(recording.members)
    variables.update(recording.variables)
    graphs.update(recording.graphs)
  order = [name for recording in recordings for name in recording.members]
  return first._replace(
      members={name: members[name] for name in dict.fromkeys(order)},
      inputs=first.inputs or recordings[-1].inputs,
      variables=variables, graphs=graphs,
      previous=next((recording.previous for recording in recordings
                     if recording.previous is not None), None))
