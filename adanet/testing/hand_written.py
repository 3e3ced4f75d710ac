# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search whose iterations a test writes by hand, and no session trains.

    engine = hand_written.HandWrittenEngine([
        hand_written.trained(0, {"a": .5, "b": .3}),
        hand_written.trained(1, {"c": .2}, before="b")])
    engine.search(max_iterations=2)

Nothing is on a disk, and TensorFlow is not loaded. A network that builder "a"
makes in iteration 0 is "t0_a", and the candidate with it is `name(0, "a")`.
"""

# The functions of values are named like the values.
# pylint: disable=redefined-outer-name

import collections
import contextlib
import dataclasses
import types
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from adanet import ensemble
from adanet.core import architecture as architecture_lib
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet.history import records
from adanet.history import store
from adanet.search import loop as search_loop
from adanet.search import search_files
from adanet.training import ending as ending_lib
from adanet.training import fitting
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trained as trained_lib
from adanet.training import trainer
import numpy as np

#: The steps of every network in an iteration.
STEPS = 10


# Values.


def name(number: int, builder: str) -> str:
  """Returns the name of the candidate that adds a builder's network."""
  return f"t{number}_{builder}_grow"


def candidates(number: int, averages: Mapping[str, float],
               before: Optional[str] = None, fitted: Iterable[str] = (),
               not_finite: Optional[Mapping[str, str]] = None,
               global_step: Optional[int] = None) -> trained_lib.Candidates:
  """Returns the candidates of an iteration.

  Args:
    number: int, the iteration's.
    averages: dict from the name of a builder to its ensemble's moving average.
      That of `before` is the previous ensemble's.
    before: str, the name of the builder that won the previous iteration.
    fitted: the names of builders with candidates that are fitted.
    not_finite: see `Candidates`.
    global_step: int, that of its checkpoint; None for that of its end.
  """
  old = () if before is None else ((number - 1, before),)
  names = {builder: name(number - (builder == before), builder)
           for builder in [before] * len(old) + [*averages, *fitted]}
  return trained_lib.Candidates(
      number, f"model/model.ckpt-{global_step or STEPS * (number + 1)}", {
          candidate: architecture_lib.Architecture(
              f"{builder}_grow", "mean", old if builder == before else
              old + ((number, builder),), (0,) * number + (index,))
          for index, (builder, candidate) in enumerate(names.items())},
      names.get(before), tuple(names[builder] for builder in fitted),
      {names[builder]: value for builder, value in averages.items()},
      dict(not_finite or {}))


def trained(number: int, averages: Mapping[str, float],
            before: Optional[str] = None,
            ending: ending_lib.Ending = ending_lib.Ending.ITERATION_OVER,
            global_step: Optional[int] = None, seconds: float = 1.,
            steps: Optional[Mapping[str, int]] = None,
            losses: Optional[Mapping[str, float]] = None,
            **arguments: Any) -> trained_lib.TrainedIteration:
  """Returns an iteration after its training.

  Args:
    number: see `candidates`.
    averages: see `candidates`.
    before: see `candidates`.
    ending: `Ending`.
    global_step: see `candidates`.
    seconds: float, how long it took.
    steps: dict from the name of a builder to its network's steps, if they are
      not `STEPS`.
    losses: dict from the name of a builder to its network's last loss.
    **arguments: see `candidates`.
  """
  of_iteration = candidates(
      number, averages, before, global_step=global_step, **arguments)
  new = [builder for builder in [*averages, *arguments.get("fitted", ())]
         if builder != before]
  of_networks = {f"t{number}_{builder}": (steps or {}).get(builder, STEPS)
                 for builder in new}
  return trained_lib.TrainedIteration(
      ending, of_iteration,
      {candidate: [.5] * len(of_iteration.architectures[candidate].subnetworks)
       for candidate in of_iteration.averages},
      events.Progress(
          number, global_step or STEPS * (number + 1),
          dict(of_networks, **{candidate: max(of_networks.values())
                               for candidate in of_iteration.averages}),
          {f"t{number}_{builder}": (losses or {}).get(builder, .5)
           for builder in new}),
      seconds)


def fits(of_iteration: trained_lib.Candidates, values: Mapping[str, float],
         members: Optional[Mapping[str, Mapping[str, float]]] = None
        ) -> fitting.Fits:
  """Returns the fitted candidates of an iteration.

  Args:
    of_iteration: `Candidates`.
    values: dict from the name of a candidate to its value. Fitted ones without
      a value could not be fitted.
    members: dict from the name of a candidate to the weights of its networks,
      by their names. The default is all networks, with the weight 1.
  """
  result = fitting.Fits({}, dict(values), {})
  for candidate in of_iteration.fitted:
    if candidate not in values:
      continue
    architecture = of_iteration.architectures[candidate]
    networks = ["t{}_{}".format(*member) for member in architecture.subnetworks]
    weights = (members or {}).get(candidate, dict.fromkeys(networks, 1.))
    result.fitted[candidate] = fitting.Fitted(
        architecture._replace(subnetworks=tuple(
            member for member, network in zip(
                architecture.subnetworks, networks) if network in weights)),
        selection.Fit(dict(weights), .25, len(networks), networks[0], .5),
        dict.fromkeys(networks, .5))
    result.variables[candidate] = {
        f"{candidate}/weight": np.float32(1.), f"{candidate}/step": np.int64(0)}
  return result


@dataclasses.dataclass
class Rater:
  """An evaluator of a user, who only says what is the best."""
  objective_fn: Any = np.nanargmin
  metric_name: str = "loss"
  input_fn: Any = print
  evaluate: Any = print


class NeverFitted(ensemble.FittedEnsembler):
  """Its `fit` is never called: the test writes the results."""
  name = "fitted"

  def fit(self, members, loss):
    raise NotImplementedError()


# In place of a disk.


class ModelDirInMemory(model_dir_lib.ModelDir):
  """A model_dir in memory.

  Attributes:
    saved: dict from the prefix of each checkpoint to its global step and its
      iteration, in the order of time.
    architectures: dict from an iteration to the `Architecture` that won it.
    behind: whether ensembles are behind at the latest checkpoint.
    full: how many writes fail, because the disk is full.
    num_cleaned: int, how often temporary files were removed.
    has_input_positions: whether they are still known.
  """

  def __init__(self, path: str = "model"):
    super().__init__(path)
    self.saved: Dict[str, Tuple[int, int]] = {}
    self.architectures: Dict[int, architecture_lib.Architecture] = {}
    self.behind = False
    self.full = 0
    self.num_cleaned = 0
    self.has_input_positions = True

  def latest_checkpoint(self):
    return ([None] + list(self.saved))[-1]

  def global_step(self, checkpoint):
    return self.saved[checkpoint][0] if checkpoint else 0

  def current_iteration(self, checkpoint):
    return self.saved[checkpoint][1] if checkpoint else 0

  def architecture(self, iteration_number):
    return self.architectures.get(iteration_number)

  def write_architecture(self, iteration_number, architecture):
    if self.full:
      self.full -= 1
      raise OSError("No space left on device")
    self.architectures[iteration_number] = architecture

  def has_ensembles_behind(self, checkpoint):
    return self.behind and checkpoint is not None

  def remove_temporary_files(self):
    self.num_cleaned += 1

  def forget_input_positions(self):
    self.has_input_positions = False


class _StoreInMemory(store.Store):
  """The texts of records, in memory."""

  def __init__(self):
    super().__init__("model")
    self._texts: Dict[Any, str] = {}

  def write_iteration(self, record):
    self._texts[record.iteration] = records.dumps(record)

  def write_undecided(self, record):
    self._texts["undecided"] = records.dumps(record)

  def write_end(self, record):
    self._texts["end"] = records.dumps(record)

  def _loaded(self, kind, key):
    return records.loads(kind, self._texts[key]) if key in self._texts else None

  def iteration(self, iteration):
    return self._loaded(records.IterationRecord, iteration)

  def undecided(self):
    return self._loaded(records.UndecidedRecord, "undecided")

  def end(self):
    return self._loaded(records.EndRecord, "end")


class SearchFilesInMemory(search_files.SearchFiles):
  """The records of a search, in memory."""

  model_dir: ModelDirInMemory

  def __init__(self):
    super().__init__(ModelDirInMemory())
    self._store = _StoreInMemory()

  def undecided(self) -> Optional[records.UndecidedRecord]:
    """Returns which ensemble answers while an iteration has no winner."""
    return self._store.undecided()


# The engine.


class HandWrittenEngine(engine_lib.Engine):
  """Returns what a test has written, and notes what it is asked.

  Attributes:
    iterations: list of what `train` returns or raises next.
    values_of: dict from an iteration to what `values` returns.
    fits_of: dict from an iteration to what `fits` returns.
    advice: str, what `nan_in_evaluator_input` returns.
    is_over: whether the job is over before it is opened.
    calls: list of tuples: the name of each method that was called, and its
      arguments that count.
    events: list of all that was reported.
    files: `SearchFilesInMemory`.
  """

  def __init__(self, iterations: Iterable[Union[
      trained_lib.TrainedIteration, BaseException]] = (),
               ensemblers: Iterable[Any] = (), report_materializer: Any = None,
               **rules: Any):
    """Begins a search in memory, with `rules` as in `Rules`."""
    self.calls: List[Tuple[Any, ...]] = []
    self.events: List[events.Event] = []
    self.files = SearchFilesInMemory()
    self.iterations = list(iterations)
    self.values_of: Dict[int, Dict[str, float]] = {}
    self.fits_of: Dict[int, fitting.Fits] = {}
    self.advice = ""
    self.is_over = False
    super().__init__(setup_lib.SearchSetup(
        types.SimpleNamespace(ensemblers=list(ensemblers)),
        self.files.model_dir, None, None, setup_lib.Rules(**rules),
        report_materializer, types.SimpleNamespace(
            write=lambda *reports: self.calls.append(("written", *reports)))))

  def search(self, **request: Any) -> None:
    """Runs the search, with the arguments of a `Request`."""
    search_loop.SearchLoop(self, self.files).train(
        trainer.Request(print, **request))

  def asked(self, method: str) -> List[Any]:
    """Returns the arguments of all calls of a method."""
    return [call[1:] if len(call) > 2 else call[1] for call in self.calls
            if call[0] == method]

  @property
  def num_calls(self) -> Dict[str, int]:
    """How often each method was called."""
    return collections.Counter(call[0] for call in self.calls)

  @contextlib.contextmanager
  def opened(self, request):
    self.calls.append(("opened", request))
    if self.is_over:
      raise engine_lib.AlreadyOverError()
    yield trainer.Training(request, signals.StopRequests(), self.events.append)

  def train(self, start):
    self.calls.append(("train", start))
    result = self.iterations.pop(0)
    if isinstance(result, BaseException):
      raise result
    self.files.model_dir.saved[result.candidates.checkpoint] = (
        result.global_step, result.number)
    return result

  def values(self, candidates):
    self.calls.append(("values", candidates.number))
    return self.values_of.get(candidates.number, {})

  def logits(self, candidates):
    raise NotImplementedError()

  def fits(self, candidates):
    self.calls.append(("fits", candidates.number))
    return self.fits_of[candidates.number]

  def fits_at(self, number, checkpoint):
    self.calls.append(("fits_at", number, checkpoint))
    return self.iterations[0].candidates, self.fits_of[number]

  def reports(self, candidates, included):
    self.calls.append(("reports", candidates.number, included))
    return [f"report of iteration {candidates.number}"]

  def saved_with(self, training, checkpoint, variables):
    self.calls.append(("saved_with", checkpoint, variables))
    saved = self.files.model_dir.saved
    saved[checkpoint + ".1"] = saved[checkpoint]
    return checkpoint + ".1"

  def nan_in_evaluator_input(self):
    self.calls.append(("nan_in_evaluator_input", None))
    return self.advice

  def compare_search(self, request, number, with_builders):
    self.calls.append(("compare_search", number, with_builders))

  def skipped(self, request, reason):
    self.calls.append(("skipped", reason))

  def finished(self, outcome, reason):
    self.calls.append(("finished", outcome, reason))
