# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What it takes to fit an ensemble to the logits of 20 networks.

That is what ends an iteration, once all networks have been recorded: the graph
of the head's loss, and the selection. The logits are mapped from files.
"""

import os
import tempfile
import time
from typing import Any, NamedTuple

from adanet import ensemble
from adanet import tf_compat
from adanet.core import architecture
from adanet.core import model_dir
from adanet.distributed import placement
from adanet.training import fitting
from adanet.training import recorded_logits
from adanet.training import setup as setup_lib
from adanet.training import trained
from benchmarks import endless_search
from benchmarks import program
from benchmarks import search
import numpy as np

_NUM_NETWORKS, _NUM_EXAMPLES = 20, 10000


class Fit(NamedTuple):
  """What fitting takes.

  Attributes:
    secs: float, in CPU time.
    num_bytes: int, of memory, with what is mapped of the logits.
    logits_bytes: int, of all logits.
  """
  secs: float
  num_bytes: int
  logits_bytes: int


def _memory(key):
  """Returns the bytes of a line of this process's status."""
  with open("/proc/self/status", encoding="utf-8") as f:
    for line in f:
      name, _, value = line.partition(":")
      if name == key:
        return 1024 * int(value.split()[0])
  raise KeyError(key)


def _recorded(folder, num_networks, num_examples):
  """Returns the `RecordedLogits` of networks that know a little of the labels."""
  random = np.random.RandomState(0)
  labels = random.randint(search.NUM_CLASSES, size=[num_examples, 1])
  members = {}
  for i in range(num_networks):
    path = os.path.join(folder, f"{i}.npy")
    np.save(path, (random.randn(num_examples, search.NUM_CLASSES) + (
        labels == np.arange(search.NUM_CLASSES))).astype(np.float32))
    members[0, f"dense_{i}"] = ensemble.Member(
        np.load(path, mmap_mode="r"), 0.)
  return recorded_logits.RecordedLogits(members, {("labels",): labels}, ())


def _fit(folder, num_networks, num_examples):
  """Fits; returns the CPU seconds, and the bytes of memory."""
  ensembler = ensemble.GreedyEnsembler()
  setup = setup_lib.SearchSetup(
      endless_search.make([], ensembler), model_dir.ModelDir(folder),
      tf_compat.RunConfig(model_dir=folder), placement.ReplicationStrategy())
  recorded = _recorded(folder, num_networks, num_examples)
  candidates = trained.Candidates(0, None, {
      "all": architecture.Architecture(
          "all", ensembler.name, tuple(recorded.members))}, fitted=("all",))
  with open("/proc/self/clear_refs", "w", encoding="utf-8") as f:
    f.write("5")  # The peak of memory starts anew.
  before, began = _memory("VmRSS"), time.process_time()
  weights = fitting.fit(setup, candidates, recorded)["all"].weights
  secs, num_bytes = time.process_time() - began, _memory("VmHWM") - before
  program.check(len(weights) > 1, f"selected {weights}")
  return secs, num_bytes


def answer(connection: Any) -> None:
  """Sends the `Fit` of 20 networks, 10,000 examples and 10 classes."""
  with tempfile.TemporaryDirectory() as folder:
    _fit(folder, 3, _NUM_EXAMPLES)  # Loads what it needs.
    secs, num_bytes = _fit(folder, _NUM_NETWORKS, _NUM_EXAMPLES)
  connection.send(Fit(
      secs, num_bytes, _NUM_NETWORKS * _NUM_EXAMPLES * search.NUM_CLASSES * 4))
