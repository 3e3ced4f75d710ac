# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The process that leads a search on an executor.

For each iteration it

1. asks the generator for builders, and divides them into parts;
2. gives the parts to the executor, the longest first, and shows how far they
   are. A part that is done, also by a driver before, is not done again;
3. joins them to one checkpoint, with AdaNet's names;
4. chooses the winner, and goes on.

All that is known of an iteration is in its folder, `part_files`, so anything
may be lost at any moment.

When a worker is lost while it trains a part:

1. Its future fails. If it left a result, that is taken; see `Execution._take`.
2. Otherwise the part is submitted again. It goes on from the newest checkpoint
   of its attempts: the steps since then are trained again. After 5 losses of
   one part, `execution.ExecutorError` ends the search.
3. If the executor is broken (`concurrent.futures.BrokenExecutor`: a process
   pool that lost a process), it takes no more work, and the error comes at
   once. The next `train`, with another executor, goes on.

An error of a part itself, or Ctrl-C, asks the other parts to save and to stop,
by a file that each looks at, and waits for them at most 60 s.

When the driver is lost, its workers train on until there is another one:
`start.json` names the driver that asks. The next driver

1. asks the generator again, and builds the iteration to see what it has;
2. takes the results of parts that are done, if they began from the checkpoint
   that is the latest now, and removes those that did not;
3. submits the others, which go on from their newest checkpoints. An attempt of
   the old driver stops at its next look at `start.json`.

When all parts are done, the model_dir gets the joined checkpoint, the record of
the winner and its architecture, in this order; then the folder goes. A driver
that comes in between has another latest checkpoint, with all steps: the parts
begin from it, have nothing left to train, and are compared again.
"""

import contextlib
import itertools
import time
from typing import Any, Union

from adanet import log as logging
from adanet.core import events
from adanet.core import parts as parts_lib
from adanet.core import selection
from adanet.history import records
from adanet.history import store
from adanet.roles import execution
from adanet.roles import leading
from adanet.roles import part as part_lib
from adanet.roles import part_files
from adanet.tf_compat import saver_hooks
from adanet.training import choosing
from adanet.training import joining
from adanet.training import library as library_lib
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import recording
from adanet.training import noting
from adanet.training import trainer


def check_executor(executor: Any, config: Any) -> None:
  """Checks that a search may be trained on an executor.

  Args:
    executor: what a user gave as one.
    config: RunConfig.

  Raises:
    ValueError: it is no executor, its workers are forks, or the config has a
      cluster.
  """
  if isinstance(executor, type) or not callable(
      getattr(executor, "submit", None)):
    raise ValueError(
        "executor must be a concurrent.futures.Executor, or have its method "
        f"submit, got {executor!r}")
  execution.check_start_method(executor)
  if config.cluster_spec:
    raise ValueError(
        f"executor={executor!r}: expected None with the cluster in TF_CONFIG. "
        "Unset TF_CONFIG to train on the executor")


def _check_hooks(request):
  """Checks that no hook saves checkpoints."""
  for hook in filter(saver_hooks.is_one, request.hooks):
    raise ValueError(
        f"hooks has {hook!r}: on an executor each part saves its own "
        "checkpoints. Say how often in a RunConfig, by save_checkpoints_steps "
        "or save_checkpoints_secs")


def train(model: model_lib.Model, request: trainer.Request,
          executor: Any) -> None:
  """Trains until the search ends, or its steps or input do.

  Args:
    model: `Model`.
    request: `Request`.
    executor: `concurrent.futures.Executor`.

  Raises:
    execution.PartError: a part failed.
    execution.ExecutorError: the executor is broken. What is done is kept.
    ValueError: an argument does not fit, or cannot be sent to a worker.
  """
  check_executor(executor, model.config)
  _check_hooks(request)
  pickled = _pickled(model, request)
  request, over = leading.resolved(model, request)
  if over is not None:
    return
  with leading.opened(model, request, _what_is_saved) as training:
    driver = _Driver(model, training, executor, pickled)
    start: Union[trainer.Start, str] = leading.undecided_start(
        model, request.max_iterations)
    while isinstance(start, trainer.Start):
      trained = driver.train_iteration(start)
      number = start.number
      start = leading.after_iteration(model, training, trained)
      part_files.PartFiles(model.model_dir.path, number).remove()


def _what_is_saved(model):
  """Says from where a search goes on that was stopped."""
  checkpoint = model.model_dir.latest_checkpoint()
  step = model.model_dir.global_step(checkpoint)
  return (f"Stopped: step {step} is saved, and so are the parts of the "
          "iteration, each at its own step. Training goes on from there.")


def _pickled(model, request):
  """Returns a function from a `Request` to what is sent to a worker.

  Raises:
    ValueError: something cannot be sent. The message names it.
  """
  import cloudpickle  # pylint: disable=g-import-not-at-top

  def dumps(request):
    return cloudpickle.dumps((model, request._replace(saving_listeners=())))

  try:
    dumps(request)
  except Exception as error:  # pylint: disable=broad-except
    given = dict(
        model.search._asdict(), input_fn=request.input_fn, hooks=request.hooks,
        report_materializer=model.report_materializer, config=model.config,
        **model.rules._asdict())
    for name, value in given.items():
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
  return dumps


class _Driver:
  """What stays the same from iteration to iteration."""

  def __init__(self, model, training, executor, pickled):
    self._model = model
    self._training = training
    self._executor = executor
    self._search = pickled(training.request)
    self._seconds = {}
    self._has_said_one_part = False

  def _planned(self, start):
    """Returns the `Iteration` without its builders: what it will have."""
    with self._model._replace(part=()).graph(
        self._training.request.input_fn, "train", start.number) as built:
      return built.iteration

  def _parts(self, iteration):
    """Divides an iteration; returns its parts in their order."""
    names = iteration.builder_names
    if len({name.lower() for name in names}) < len(names):
      raise ValueError(
          f"iteration {iteration.number}: of the builders {list(names)}, some "
          "differ only in upper and lower case, where TensorFlow renames "
          "variables: on an executor, give them other names")
    found = parts_lib.divide(names, iteration.planned)
    if len(found) == 1 < len(names) and (
        not self._has_said_one_part):
      self._has_said_one_part = True
      logging.warning(
          "Iteration %d: its ensembles have all builders together, so one "
          "worker trains all of it. To divide it, use a GrowStrategy or "
          "SoloStrategy, or a cluster with parameter servers.",
          iteration.number)
    return found

  def train_iteration(self, start: trainer.Start) -> trainer.Trained:
    """Trains an iteration, and joins its parts."""
    began = time.time()
    model, request = self._model, self._training.request
    iteration = self._planned(start)
    parts = self._parts(iteration)
    choice = choosing.preset(
        model.rules, list(iteration.architectures), start.number,
        iteration.previous and iteration.previous.name)
    names = _names_in_training(iteration)
    self._training.report(events.IterationBegan(
        start.number,
        tuple(f"t{start.number}_{name}" for name in iteration.builder_names),
        names, model.search.max_iteration_steps,
        model.model_dir.global_step(start.checkpoint), request.max_iterations,
        request.max_steps))
    files = part_files.PartFiles(model.model_dir.path, start.number)
    first = part_lib.PartRequest(
        (), len(parts), is_first=False, may_be_late=True,
        compares=choice is None,
        records=choosing.needs_library(choice, iteration),
        start=start, max_steps=request.max_steps, stops={},
        builder_names=iteration.builder_names, model_dir=model.model_dir.path,
        driver=leading.written_surely(
            lambda: files.begin(start.checkpoint, self._search), model,
            request),
        driver_process=part_files.worker_name())
    note = self._noted(start, iteration, files, parts, first)
    seconds_before = max(map(records.total_seconds, self._tasks(
        start.number, files, parts)), default=0.)
    recording.write_goes_on(model.model_dir.path)
    ordered = parts_lib.longest_first(parts, self._seconds, dict(zip(
        iteration.builder_names, iteration.builder_costs)))
    results = self._results(files, note, {
        part: first._replace(part=part, is_first=part == parts[0],
                             may_be_late=part != ordered[0])
        for part in ordered})
    results = {part: results[part] for part in parts}
    self._warn_of_late_parts(start.number, results)
    self._seconds = {name: result.seconds / len(part)
                     for part, result in results.items() for name in part}
    trained = self._joined(iteration, files, results, names)
    for record in self._tasks(start.number, files, parts):
      recording.write_or_warn(
          store.Store(model.model_dir.path).write_task, record)
    return trained._replace(seconds=seconds_before + time.time() - began)

  def _warn_of_late_parts(self, number, results):
    """Names the parts that have not trained, because no worker was free."""
    late = [part_files.part_name(part) for part, result in results.items()
            if result.ending == loop_lib.Ending.TIME_IS_UP and not result.runs]
    if late:
      logging.warning(
          "Iteration %d: %d of %d parts are not trained, because max_seconds=%g "
          "were over before a worker began them: %s. Use more workers, or more "
          "seconds.", number, len(late), len(results),
          self._training.request.max_seconds, ", ".join(map(repr, late)))

  def _noted(self, start, iteration, files, parts, task):
    """Returns the `SearchNote` of the search, compared with that of before.

    Nobody builds the builders of parts that are done. If the builders are
    others now, their weights do not fit, so they are built here.
    """
    request = self._training.request
    has_begun = any(files.attempts(part) for part in parts)
    note = noting.SearchNote(
        self._model, start.number, request.max_iterations,
        iteration.builder_names, iteration.graphs,
        has_weights=start.checkpoint is not None or has_begun,
        resumes=has_begun or not start.begins)
    done = tuple(name for part in parts for name in part
                 if files.result(part, task.driver, task.max_steps))
    if done:
      with self._model._replace(part=done).graph(
          request.input_fn, "train", start.number) as built:
        note.write(request.wait_timeout_secs, built.iteration.graphs)
    return note

  def _results(self, files, note, tasks):
    """Returns the `Result` of each part.

    A part ends at `max_steps` as if all other subnetworks trained as long. If
    one has stopped before, the part is trained again, and is told so.
    """
    number = next(iter(tasks.values())).start.number
    results = {}
    todo = tasks
    while todo:
      results.update(execution.Execution(
          self._executor, self._training, files, todo, number,
          note).results())
      stops = _stops(number, results)
      todo = {part: task._replace(stops=stops) for part, task in tasks.items()
              if _ended_too_early(part, results[part], stops)}
      for part in todo:
        files.remove_part(part)
    return results

  def _joined(self, iteration, files, results, names):
    """Joins the parts of an iteration; returns a `Trained`."""
    averages = _of_first(results, lambda result: result.averages)
    for result in results.values():
      for event in result.stopped:
        self._training.report(event)
    if names and all(averages[name] != averages[name] for name in names):
      files.remove()
      raise selection.all_nan_error(iteration.number, names)
    steps = _of_first(results, lambda result: result.steps)
    checkpoint, global_step = joining.join(
        self._model, self._training,
        [files.absolute(result.checkpoint) for result in _longest_first(results)],
        [iteration.base_global_step + steps[f"t{iteration.number}_{name}"]
         for name in iteration.builder_names])
    progress = events.Progress(
        iteration.number, global_step, steps,
        _of_first(results, lambda result: result.losses))
    self._training.report(progress)
    self._write_curves(iteration.number, progress, averages)
    return trainer.Trained(
        ending=_ending(results),
        contest=choosing.contest_of(
            iteration, lambda: _of_first(results, lambda result: result.values),
            lambda: contextlib.nullcontext(library_lib.joined([
                library_lib.read(files.absolute(result.library))
                for result in results.values()])),
            lambda: _of_first(results, lambda result: result.not_finite)),
        reports=lambda included: _reports(results, included),
        averages=averages,
        weights=_of_first(results, lambda result: result.weights),
        progress=progress, checkpoint=checkpoint, global_step=global_step,
        seconds=0.)

  def _write_curves(self, number, progress, averages):
    """Draws a point of the search's own curves."""
    values = {"iteration/adanet/iteration": number}
    known = {name: value for name, value in averages.items()
             if value == value and name in progress.losses}
    if known:
      values["loss"] = progress.losses[min(known, key=known.get)]
    self._training.writer.add_scalars("", values, progress.global_step)

  def _tasks(self, number, files, parts):
    """Returns what each worker of the executor did, as a `TaskRecord`.

    It adds to what the workers did until an earlier stop in the iteration.
    """
    history = store.Store(self._model.model_dir.path)
    found = list(itertools.takewhile(lambda record: record is not None, (
        history.task(f"worker:{i}", number) for i in itertools.count())))
    indices = {}
    for part in parts:
      for attempt in files.attempts(part):
        record = store.Store(attempt).task("chief:0", number)
        if record is not None:
          i = indices.setdefault(part_files.worker_of(attempt), len(indices))
          before = found[i] if i < len(found) else None
          found[i:i + 1] = [records.added(
              before, record._replace(task=f"worker:{i}"))]
    return found


def _names_in_training(iteration):
  """Returns the names of all candidates but those that are fitted, in order."""
  return tuple([c.name for c in iteration.candidates] +
               [ensemble.name for ensemble in iteration.planned
                if ensemble.fitted_by is None])


def _longest_first(results):
  """Returns results, that of the part which trained in most steps first.

  What all parts have, the previous ensemble, is taken from this one: in one
  process, too, it is run until the last subnetwork is done.
  """
  return sorted(results.values(), key=lambda result: -result.runs)


def _of_first(results, get):
  """Returns the dicts of all results as one; see `_longest_first`."""
  found = {}
  for result in reversed(_longest_first(results)):
    found.update(get(result))
  return found


def _ending(results):
  """Returns why an iteration ended, of the endings of its parts."""
  endings = {result.ending for result in results.values()}
  return next(
      (ending for ending in loop_lib.Ending
       if ending in endings and ending != loop_lib.Ending.ITERATION_OVER),
      loop_lib.Ending.ITERATION_OVER)


def _stops(number, results):
  """Returns the steps of the builders that train no further, by their names.
  """
  return {
      name: result.steps[f"t{number}_{name}"]
      for part, result in results.items() for name in part
      if result.ending == loop_lib.Ending.ITERATION_OVER or
      result.steps[f"t{number}_{name}"] < result.runs}


def _ended_too_early(part, result, stops):
  """Returns whether a part took a builder of another one for further."""
  return result.ending == loop_lib.Ending.MAX_STEPS and any(
      step < min(result.runs, result.stops.get(name, result.runs))
      for name, step in stops.items() if name not in part)


def _reports(results, included):
  """Returns the reports of all builders: that of the previous ensemble first.
  """
  return [
      report._replace(included_in_final_ensemble=report.name in included)
      for report in choosing.joined_reports(
          [result.reports for result in _longest_first(results)],
          [name for part in results for name in part])]
