# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A part of an iteration, which a worker of an executor trains for a driver.

The executor calls `train` in a process of any machine. The function

1. checks that the folder of the parts is visible, and whether the part is done;
2. begins from the newest checkpoint of an earlier attempt, or else from the
   checkpoint of the model_dir;
3. trains the builders and the ensembles of the part, as a single process does,
   and keeps separate checkpoints;
4. compares the candidates on the evaluator's data, and makes reports;
5. writes the result.

`train` raises nothing, so any error of a future is the executor's error.
"""

import enum
import os
import time
import traceback
from typing import NamedTuple, Optional, Tuple

from adanet import forks
from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import event_files
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import parts
from adanet.core import selection
from adanet.core import user_input
from adanet.engines import local
from adanet.engines.executor import part_files
from adanet.tf_compat import files as tf_files
from adanet.training import candidates as candidates_lib
from adanet.training import ending as ending_lib
from adanet.training import held_out_pass
from adanet.training import loop as loop_lib
from adanet.training import recorded_logits as logits_lib
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trained as trained_lib
from adanet.training import trainer

_LOOK_SECS = .5  # Between two looks at whether to stop.
# Parts are compared on the same examples, also without a seed of the user. With
# TensorFlow's DEFAULT_GRAPH_SEED, an op that has a seed of its own does as in a
# graph that has none.
_SEED_OF_NONE = 87654321
SEEN_SECS = 10.  # A network's file system may show a new file late.


class PartRequest(NamedTuple):
  """A driver's request to a worker, with few bytes.

  Attributes:
    part: `Part`.
    num_parts: int, of the iteration.
    is_first: whether this part draws the curves of the previous ensemble.
    compares: whether candidates are compared when the iteration is over.
    records: whether logits are recorded then, because ensembles are fitted.
    start: `Start`, with the checkpoint of the model_dir.
    max_steps: int, the last global step, or None.
    builder_names: the names of all builders of the iteration.
    model_dir: str.
    driver: str, the driver's id.
    driver_process: str, the name of the driver's process.
    num_losses: int, how often the executor has lost the part. Without this
      number, Dask takes a new request for the equal request that failed.
  """
  part: parts.Part
  num_parts: int
  is_first: bool
  compares: bool
  records: bool
  start: trained_lib.Start
  max_steps: Optional[int]
  builder_names: Tuple[str, ...]
  model_dir: str
  driver: str
  driver_process: str
  num_losses: int = 0


class PartEnd(enum.Enum):
  """What ended the training of a part."""
  DONE = "it is done"
  STOPPED = "it was asked to stop"
  FORKED = "the process was forked, and cannot train"
  INPUT_EMPTY = "an EmptyInputError"
  ALL_NAN = "an AllNaNError"
  FAILED = "another error"


class PartOutcome(NamedTuple):
  """How the training of a part ended.

  Attributes:
    end: `PartEnd`.
    error: str, the error of the part, "" if there was none.
    details: str, the traceback, except for errors of AdaNet.
    worker: str, the name of the process.
  """
  end: PartEnd
  error: str = ""
  details: str = ""
  worker: str = ""


class _Curves(event_files.SummaryWriter):
  """Writes the curves of a part; the driver writes the curves of the search."""

  def add_scalars(self, folder, values, global_step):
    if folder:
      super().add_scalars(folder, values, global_step)

  def add_graph(self, meta_graph):
    """Writes nothing: the graph of a part is not the iteration's graph."""


class _Watch:
  """Looks now and then whether the driver still wants the part."""

  def __init__(self, files: part_files.PartFiles, driver: str,
               stops: signals.StopRequests):
    self._files = files
    self._driver = driver
    self._stops = stops
    self._next_look = 0.
    self._is_over = False

  def asked_to_stop(self) -> bool:
    if not self._is_over and time.monotonic() >= self._next_look:
      self._next_look = time.monotonic() + _LOOK_SECS
      self._is_over = not self._files.is_wanted(self._driver)
    return self._is_over or self._stops.asked is not None


def train(part_request: PartRequest) -> PartOutcome:
  """Trains a part while the driver wants the part."""
  worker = part_files.worker_name()
  if worker != part_request.driver_process and forks.is_fork():
    return PartOutcome(PartEnd.FORKED, worker=worker)
  try:
    is_done = _train(part_request)
    return PartOutcome(
        PartEnd.DONE if is_done else PartEnd.STOPPED, worker=worker)
  except user_input.EmptyInputError as error:
    return PartOutcome(PartEnd.INPUT_EMPTY, str(error), worker=worker)
  except selection.AllNaNError as error:
    return PartOutcome(PartEnd.ALL_NAN, str(error), worker=worker)
  except Exception as error:  # pylint: disable=broad-except
    return PartOutcome(PartEnd.FAILED, f"{type(error).__name__}: {error}",
                       traceback.format_exc(), worker)
  except (KeyboardInterrupt, SystemExit):
    return PartOutcome(PartEnd.STOPPED, worker=worker)


def _train(part_request):
  """Returns whether the part is done; see `train`. Raises errors."""
  files = part_files.PartFiles(
      part_request.model_dir, part_request.start.number)
  wait = waiting.Wait(
      SEEN_SECS, "use a folder that all workers of the executor see, or start "
      "the workers where it is", log=logging.info)
  while files.driver() is None:
    wait.pause(.2, lambda: (
        f"the driver's file in model_dir {part_request.model_dir!r} on "
        f"{part_files.worker_name()}, a worker of the executor"))
  if not files.is_wanted(part_request.driver):
    return False
  if _is_done(part_request, files):
    return True
  model, request = _unpacked(part_request, files)
  with signals.StopRequests() as stops:
    attempt = request.retry_until_space(
        lambda: files.new_attempt(part_request.part), part_request.model_dir)
    try:
      return _trained(part_request, model, request, files, attempt, stops)
    finally:
      files.remove_attempt(attempt)


def _is_done(part_request, files):
  """Returns whether a part has a result that fits the request."""
  return files.result(part_request.part, part_request.driver,
                      part_request.max_steps) is not None


def _unpacked(part_request, files):
  """Returns the `SearchSetup` of the part, and the `trainer.Request`."""
  model, request = unpickle_search(files.search(part_request.driver))
  if model.config.session_config is None:  # A share of the machine's CPUs.
    threads = max(1, (os.cpu_count() or 1) // part_request.num_parts)
    config = tf_compat.default_session_config()
    config.intra_op_parallelism_threads = threads
    config.inter_op_parallelism_threads = threads
    model = model._replace(config=model.config.replace(session_config=config))
  return (model._replace(part=part_request.part),
          request._replace(steps=None, max_steps=part_request.max_steps))


def _trained(part_request, model, request, files, attempt, stops):
  """Trains the part; returns whether it is done."""
  watch = _Watch(files, part_request.driver, stops)
  stopped = []
  graphs = {}
  shareable = []

  def adapt(built):
    graphs.update(built.iteration.graphs)
    shareable.extend(
        v.op.name for v in tf_compat.v1.trainable_variables()
        if not v.op.name.startswith("adanet/"))
    return built._replace(iteration=_checked(built.iteration, part_request))

  def report(event):
    if isinstance(event, events.Progress):
      _write_progress(files, part_request.part, event)
    elif isinstance(event, events.IterationBegan):
      request.retry_until_space(
          lambda: files.write_graphs(
              part_request.part, part_request.driver, graphs),
          part_request.model_dir)
    elif isinstance(event, events.Stopped):
      stopped.append(event)

  start = part_request.start
  newest = files.newest_checkpoint(part_request.part)
  is_late = newest is None and request.deadline is not None and (
      time.time() >= request.deadline)
  if newest is not None:
    start = start._replace(checkpoint=newest, starts_iteration=False)
  writer = _Curves(model.model_dir.path)
  try:
    trained = local.train_here(
        model, trainer.Training(request, stops, report, writer),
        start._replace(from_other_folder=not start.starts_iteration),
        loop_lib.LoopContext(
            report=report,
            mark_stopped=lambda *stop: request.retry_until_space(
                lambda: model.model_dir.mark_stopped(start.number, *stop),
                part_request.model_dir),
            asked_to_stop=watch.asked_to_stop),
        model_dir_lib.ModelDir(attempt), adapt)
  finally:
    writer.close()
  if trained is None:
    return False
  result = _result(
      part_request, model, request, files, attempt, trained, stopped)._replace(
          shareable=tuple(shareable), is_late=is_late)
  # Another attempt may have been faster, or another driver may have removed all
  # that began from an earlier checkpoint.
  if not _is_done(part_request, files) and (
      attempt in files.attempts(part_request.part)):
    request.retry_until_space(
        lambda: files.write_result(part_request.part, result),
        part_request.model_dir)
  return True


def _write_progress(files, part, progress):
  """Writes the progress of a part; skips the file while the disk is full."""
  try:
    files.write_progress(part, progress)
  except Exception as error:  # pylint: disable=broad-except
    if not tf_files.is_disk_full(error):
      raise


def _checked(iteration, part_request):
  """Returns the `Iteration` with the summaries that this part writes."""
  if iteration.builder_names != part_request.builder_names:
    raise ValueError(
        f"iteration {iteration.number}: subnetwork_generator makes the "
        f"builders {list(iteration.builder_names)} on a worker of the "
        "executor, "
        f"and {list(part_request.builder_names)} in the program that called "
        "train: it must make the same in each process")
  if part_request.is_first or not iteration.has_previous:
    return iteration
  of_previous = iteration.candidates[0].summary
  return iteration._replace(
      summaries=[s for s in iteration.summaries if s is not of_previous])


def _result(part_request, model, request, files, attempt, trained, stopped):
  """Evaluates the candidates, and returns the `Result`."""
  compared, reports, logits = candidates_lib.Comparison({}), (), None
  candidates, number = trained.candidates, trained.number
  checkpoint = candidates.checkpoint
  if model.config.tf_random_seed is None:
    model = model._replace(config=model.config.replace(
        tf_random_seed=_SEED_OF_NONE))
  if trained.ending == ending_lib.Ending.ITERATION_OVER:
    if part_request.compares and model.rules.evaluator:
      compared = candidates_lib.compared(model, number, checkpoint)
    if part_request.records:
      logits = os.path.join(attempt, "library")
      recorded = held_out_pass.record(
          model, number, checkpoint, part_request.is_first)[1]
      request.retry_until_space(
          lambda: logits_lib.write(recorded, logits), part_request.model_dir)
    if model.report_materializer and not candidates_lib.needs_all(
        model.report_materializer):
      reports = tuple(candidates_lib.reports(
          model, number, checkpoint, part_request.part))
  return part_files.Result(
      trained.ending, part_request.driver, request.max_steps,
      files.relative(checkpoint), trained.progress.steps,
      trained.progress.losses, compared, candidates.not_finite,
      logits and files.relative(logits), candidates.averages, trained.weights,
      reports, tuple(stopped), trained.seconds)


def pickle_search(
    setup: setup_lib.SearchSetup, request: trainer.Request) -> bytes:
  """Returns a search as bytes, which a driver sends to workers.

  Args:
    setup: `SearchSetup`.
    request: `Request`, whose saving listeners are not sent.

  Raises:
    ValueError: a value cannot be sent. The message names the value.
  """
  import cloudpickle  # pylint: disable=g-import-not-at-top

  try:
    return cloudpickle.dumps((setup, request._replace(saving_listeners=())))
  except Exception as error:  # pylint: disable=broad-except
    values = dict(
        setup.search._asdict(), report_materializer=setup.report_materializer,
        config=setup.config, input_fn=request.input_fn, hooks=request.hooks,
        **setup.rules._asdict())
    for name, value in values.items():
      try:
        cloudpickle.dumps(value)
      except Exception as cause:  # pylint: disable=broad-except
        raise ValueError(
            f"{name}={value!r} cannot be sent to a worker of the executor: "
            f"{cause}. Make in the function itself what it cannot bring along, "
            "such as locks, sessions and open files") from cause
    raise ValueError(
        "the search cannot be sent to a worker of the executor: "
        f"{error}") from error


def unpickle_search(
    data: bytes) -> Tuple[setup_lib.SearchSetup, trainer.Request]:
  """Returns the arguments of `pickle_search`."""
  import cloudpickle  # pylint: disable=g-import-not-at-top

  return cloudpickle.loads(data)
