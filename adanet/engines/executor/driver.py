# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The process that leads a search on an executor.

For each iteration it

1. asks the generator for builders, and divides the builders into parts;
2. submits the parts to the executor, the longest first, and shows the progress.
   A part that is done, also for an earlier driver, is not done again;
3. merges the parts to a checkpoint, with AdaNet's names.

The search then chooses the winner, and goes on.

The folder of an iteration has the whole state: see `part_files`.

When a worker is lost while training a part:

1. The future fails, or waits for another worker. If the worker left a result,
   the driver takes the result, and drops the future; see `Execution._wait`.
2. Otherwise the part is submitted again. The part resumes from the newest
   checkpoint of all attempts: later steps are trained again. After 5 losses of
   a part, `execution.ExecutorError` ends the search.
3. If the executor is broken (`BrokenExecutor`: a process pool that lost a
   process), the error comes at once. The next `train`, with a new executor,
   resumes the search.

After an error of a part, or Ctrl-C, a file asks all parts to save and to stop,
and the driver waits at most 60 s.

When the driver is lost, the workers train on until there is a new driver:
`start.json` names the driver that asks. The next driver

1. asks the generator again, and builds the iteration to see the candidates;
2. takes the results of parts that are done, if they began from the checkpoint
   that is the latest now. Others are removed. If the search is another one now,
   such as with another evaluator, no part is done;
3. submits the other parts, which go on from their newest checkpoints: one that
   has trained already is evaluated only. An attempt of the old driver stops at
   its next look at `start.json`.

When all parts are done, the model_dir gets the merged checkpoint, the record of
the winner and the architecture, in this order; then the folder is removed. A
driver that starts in between continues with the next iteration, or has a new
latest checkpoint, with all steps: the parts then begin from this checkpoint,
have nothing left to train, and are compared again.
"""

import contextlib
import hashlib
import itertools
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence
import uuid

from adanet import code_text
from adanet import forks
from adanet import log as logging
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.core import parts as parts_lib
from adanet.core import selection
from adanet.engines import engine
from adanet.engines.executor import execution
from adanet.engines.executor import part as part_lib
from adanet.engines.executor import part_files
from adanet.history import records
from adanet.history import store
from adanet.tf_compat import checkpoint_file
from adanet.training import candidates as candidates_lib
from adanet.training import ending as ending_lib
from adanet.training import merge_checkpoints
from adanet.training import recorded_logits as logits_lib
from adanet.training import recording
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
from adanet.training import trainer


def check_executor(executor: Any, config: Any) -> Any:
  """Returns the executor of an argument `executor`; see `forks`.

  Raises:
    TypeError: `executor` is no executor.
    ValueError: as in `forks`, or the RunConfig has a cluster.
  """
  executor = forks.check_executor(executor)
  if config.cluster_spec:
    raise ValueError(
        f"executor={executor!r}: expected None with the cluster in TF_CONFIG. "
        "Unset TF_CONFIG to train on the executor")
  return executor


def result_arguments(setup: setup_lib.SearchSetup) -> Dict[str, str]:
  """Returns the texts of what the results of parts depend on.

  A value that cannot be described has another text each time.
  """
  try:
    text = code_text.text_of_value((
        setup.rules.evaluator, setup.search.metric_fn,
        setup.search.adanet_loss_decay, setup.report_materializer))
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    text = uuid.uuid4().hex
  return dict(fingerprint.of(setup.search).arguments,
              evaluation=hashlib.sha256(text.encode()).hexdigest())


class ExecutorEngine(engine.Engine):
  """Lets an executor train and evaluate the parts of an iteration."""

  _training: trainer.Training
  _search: bytes

  def __init__(self, setup: setup_lib.SearchSetup, executor: Any):
    """Checks the executor.

    Raises:
      TypeError, ValueError: see `check_executor`.
    """
    super().__init__(setup)
    self._executor = check_executor(executor, setup.config)
    self._seconds: Dict[str, float] = {}  # Of each builder, the last time.
    self._has_said_one_part = False
    self._iteration: Optional[iteration_lib.Iteration] = None
    self._results: Dict[parts_lib.Part, part_files.Result] = {}

  @contextlib.contextmanager
  def opened(self, request: trainer.Request) -> Iterator[trainer.Training]:
    """See `Engine`.

    Raises:
      ValueError: `hooks` saves checkpoints, or an argument cannot be sent to a
        worker.
    """
    for hook in filter(checkpoint_file.is_saver_hook, request.hooks):
      raise ValueError(
          f"hooks has {hook!r}: on an executor each part saves its own "
          "checkpoints. Say how often in a RunConfig, by "
          "save_checkpoints_steps or save_checkpoints_secs")
    self._search = part_lib.pickle_search(self.setup, request)
    with self.opened_here(request) as self._training:
      yield self._training

  def what_is_saved(self) -> str:
    model_dir = self.setup.model_dir
    step = model_dir.global_step(model_dir.latest_checkpoint())
    return (f"Stopped: step {step} is saved, and so are the parts of the "
            "iteration, each at its own step. Training goes on from there.")

  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    """See `Engine`. Each part has evaluated candidates at the end."""
    is_of_all = candidates_lib.needs_all(self.setup.rules.evaluator)
    if not is_of_all and not part_files.may_be_compared(self._results):
      is_of_all = True
      logging.warning(
          "Iteration %d: the data of evaluator.input_fn are not the same on all "
          "workers, so they are evaluated once more, here.", candidates.number)
    if is_of_all:
      return candidates_lib.values(
          self.setup, candidates.number, candidates.checkpoint)
    return part_files.of_first(
        self._results, lambda result: result.compared.values)

  @contextlib.contextmanager
  def logits(self, candidates: trained_lib.Candidates
            ) -> Iterator[logits_lib.RecordedLogits]:
    """See `Engine`. Each part has recorded logits at the end."""
    files = self._files(candidates.number)
    yield logits_lib.merged([
        logits_lib.read(files.absolute(result.logits or ""))
        for result in self._results.values()])

  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    """See `Engine`. Each part has made reports at the end."""
    if candidates_lib.needs_all(self.setup.report_materializer):
      return candidates_lib.reports(
          self.setup, candidates.number, candidates.checkpoint, included)
    return [
        report._replace(included_in_final_ensemble=report.name in included)
        for report in candidates_lib.merged_reports(
            [result.reports
             for result in part_files.longest_first(self._results)],
            [name for part in self._results for name in part])]

  def finished(self, outcome: engine.SearchOutcome, reason: str) -> None:
    if outcome == engine.SearchOutcome.OVER:
      self._remove_parts()

  def _remove_parts(self):
    """Removes the parts of the last iteration, which is decided."""
    if self._iteration is not None:
      self._files(self._iteration.number).remove()

  def _files(self, number):
    return part_files.PartFiles(self.setup.model_dir.path, number)

  def _planned(self, start):
    """Returns the `Iteration` without builders: the future names."""
    with self.setup._replace(part=()).graph(
        self._training.request.input_fn, "train", start.number) as built:
      return built.iteration

  def _parts(self, iteration):
    """Divides an iteration; returns the parts in order."""
    names = iteration.builder_names
    if len({name.lower() for name in names}) < len(names):
      raise ValueError(
          f"iteration {iteration.number}: of the builders {list(names)}, some "
          "differ only in upper and lower case, where TensorFlow renames "
          "variables: on an executor, give them other names")
    parts = parts_lib.divide(names, iteration.planned)
    if len(parts) == 1 < len(names) and (
        not self._has_said_one_part):
      self._has_said_one_part = True
      logging.warning(
          "Iteration %d: its ensembles have all builders together, so one "
          "worker trains all of it. To divide it, use a GrowStrategy or "
          "SoloStrategy, or a cluster with parameter servers.",
          iteration.number)
    return parts

  def train(self, start: trained_lib.Start) -> trained_lib.TrainedIteration:
    """See `Engine`.

    Raises:
      execution.PartError: a part failed.
      execution.ExecutorError: the executor is broken. Finished parts are kept.
    """
    began = time.time()
    setup, request = self.setup, self._training.request
    self._remove_parts()
    iteration = self._iteration = self._planned(start)
    parts = self._parts(iteration)
    choice = start.preset.choice(list(iteration.architectures))
    # Of all candidates that are not fitted, in order.
    names = tuple([c.name for c in iteration.candidates] +
                  [ensemble.name for ensemble in iteration.planned
                   if ensemble.fitted_by is None])
    self._training.report(events.IterationBegan(
        start.number,
        tuple(f"t{start.number}_{name}" for name in iteration.builder_names),
        names, setup.search.max_iteration_steps,
        setup.model_dir.global_step(start.checkpoint), request.max_iterations,
        request.max_steps))
    files = self._files(start.number)
    driver = request.retry_until_space(
        lambda: files.begin(
            start.checkpoint, self._search, result_arguments(setup)),
        setup.model_dir.path)
    any_part = part_lib.PartRequest(
        (), len(parts), is_first=False,
        compares=choice is None and not candidates_lib.needs_all(
            setup.rules.evaluator), records=any(
            choice is None or choice.name == ensemble.name
            for ensemble in iteration.fitted),
        start=start._replace(stopped=self._stopped(start, iteration)),
        max_steps=request.max_steps,
        builder_names=iteration.builder_names, model_dir=setup.model_dir.path,
        driver=driver, driver_process=part_files.worker_name())
    check = self._fingerprint_check(start, iteration, files, parts, any_part)
    seconds_before = max(
        (record.total_seconds
         for record in self._worker_records(start.number, files, parts)),
        default=0.)
    recording.mark_resumed(setup.model_dir.path)
    ordered = parts_lib.longest_first(parts, self._seconds, dict(zip(
        iteration.builder_names, iteration.builder_costs)))
    results = execution.Execution(
        self._executor, self._training, files, {
            part: any_part._replace(part=part, is_first=part == parts[0])
            for part in ordered}, start.number, check).results()
    results = self._results = {part: results[part] for part in parts}
    self._warn_of_late_parts(start.number, results)
    self._seconds = {name: result.seconds / len(part)
                     for part, result in results.items() for name in part}
    trained = self._merged(iteration, files, results, names)
    for record in self._worker_records(start.number, files, parts):
      recording.write_or_warn(
          store.Store(setup.model_dir.path).write_task, record)
    return trained._replace(seconds=seconds_before + time.time() - began)

  def _stopped(self, start, iteration):
    """Returns the steps of builders that stopped in an earlier call."""
    if start.checkpoint is None or start.starts_iteration:
      return {}
    number, limit = start.number, self.setup.search.max_iteration_steps
    steps = checkpoints.integers(
        start.checkpoint, f"adanet/iteration_{number}/subnetwork_(.+)/step")
    reasons = self.setup.model_dir.stopped(number, steps)
    known = [(name, steps.get(f"t{number}_{name}"),
              reasons.get(f"t{number}_{name}"))
             for name in iteration.builder_names]
    # The limit may be greater now.
    return {name: step for name, step, reason in known
            if step is not None and reason is not None and (
                reason != events.at_limit(step) or
                limit is not None and step >= limit)}

  def _warn_of_late_parts(self, number, results):
    """Names the parts with a single step, because no worker was free."""
    late = [part_files.part_name(part) for part, result in results.items()
            if result.ending == ending_lib.Ending.TIME_IS_UP and result.is_late]
    if late:
      logging.warning(
          "Iteration %d: %d of %d parts took a single step, because "
          "max_seconds=%g were over when a worker began them: %s. Use more "
          "workers, or more seconds.", number, len(late), len(results),
          self._training.request.max_seconds, ", ".join(map(repr, late)))

  def _fingerprint_check(self, start, iteration, files, parts, part_request):
    """Returns the `FingerprintCheck` of the search.

    No worker builds the builders of finished parts. The weights do not fit a
    changed builder, so the driver builds these builders.
    """
    request = self._training.request
    has_begun = any(files.attempts(part) for part in parts)
    check = fingerprint.FingerprintCheck(
        self.setup.model_dir.path,
        fingerprint.of(self.setup.search, iteration), start.number,
        request.max_iterations,
        has_weights=start.checkpoint is not None or has_begun,
        resumes=has_begun or not start.starts_iteration)
    done = tuple(name for part in parts for name in part
                 if files.result(part, part_request.driver,
                                 part_request.max_steps))
    if done:
      with self.setup._replace(part=done).graph(
          request.input_fn, "train", start.number) as built:
        check.write(request.wait_timeout_secs, built.iteration.graphs)
    return check

  def _merged(self, iteration, files, results, names):
    """Merges the parts of an iteration; returns a `TrainedIteration`."""
    averages = part_files.of_first(results, lambda result: result.averages)
    for result in results.values():
      for event in result.stopped:
        self._training.report(event)
    if names and all(averages[name] != averages[name] for name in names):
      files.remove()
      raise selection.all_nan_error(iteration.number, names)
    part_files.check_nothing_is_shared(
        iteration.number, results, lambda result, name: checkpoints.values(
            files.absolute(result.checkpoint), [name])[name])
    steps = part_files.of_first(results, lambda result: result.steps)
    checkpoint, global_step, is_stop_asked = merge_checkpoints.merge(
        self.setup, self._training,
        [files.absolute(result.checkpoint)
         for result in part_files.longest_first(results)],
        [iteration.base_global_step + steps[f"t{iteration.number}_{name}"]
         for name in iteration.builder_names])
    self._warn_of_missing_steps(iteration.number, results, global_step)
    progress = events.Progress(
        iteration.number, global_step, steps,
        part_files.of_first(results, lambda result: result.losses))
    self._training.report(progress)
    self._write_curves(iteration.number, progress, averages)
    return trained_lib.TrainedIteration(
        ending_lib.of_parts(result.ending for result in results.values()),
        trained_lib.Candidates(
            iteration.number, checkpoint, iteration.architectures,
            iteration.previous.name if iteration.previous else None,
            tuple(ensemble.name for ensemble in iteration.fitted), averages,
            part_files.of_first(results, lambda result: result.not_finite)),
        part_files.of_first(results, lambda result: result.weights), progress,
        seconds=0., is_stop_asked=is_stop_asked)

  def _warn_of_missing_steps(self, number, results, global_step):
    """Warns of a global step below `max_steps` at which parts have ended.

    A part ends at `max_steps` as if all other builders trained as long, except
    those that stopped in an earlier call.
    """
    max_steps = self._training.request.max_steps
    if max_steps is not None and global_step < max_steps and any(
        result.ending == ending_lib.Ending.MAX_STEPS
        for result in results.values()):
      logging.warning(
          "Iteration %d: training ends at step %d instead of %d, because a "
          "builder stopped earlier in this call, and a part does not know the "
          "steps of other parts. Call train again to train on.",
          number, global_step, max_steps)

  def _write_curves(self, number, progress, averages):
    """Draws a point of the search's curves."""
    values = {"iteration/adanet/iteration": number}
    known = {name: value for name, value in averages.items()
             if value == value and name in progress.losses}
    if known:
      values["loss"] = progress.losses[min(known, key=known.get)]
    self._training.writer.add_scalars("", values, progress.global_step)

  def _worker_records(self, number, files, parts):
    """Returns a `TaskRecord` of each worker of the executor.

    The numbers include the records from before a stop in the iteration.
    """
    history = store.Store(self.setup.model_dir.path)
    worker_records = list(itertools.takewhile(
        lambda record: record is not None, (
            history.task(f"worker:{i}", number) for i in itertools.count())))
    indices = {}
    for part in parts:
      for attempt in files.attempts(part):
        record = store.Store(attempt).task("chief:0", number)
        if record is not None:
          i = indices.setdefault(part_files.worker_of(attempt), len(indices))
          before = worker_records[i] if i < len(worker_records) else None
          worker_records[i:i + 1] = [records.added(
              before, record._replace(task=f"worker:{i}"))]
    return worker_records

