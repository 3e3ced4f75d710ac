# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A call of `fit`: proposes, checks, trains, judges and selects.

The state of a search is in its directory, so that a run may end anywhere: the
next one does what is left.
"""

import contextlib
import itertools
import random

from adanet.ensemble_search import arguments
from adanet.ensemble_search import candidates
from adanet.ensemble_search import changes
from adanet.ensemble_search import combining
from adanet.ensemble_search import display as display_lib
from adanet.ensemble_search import engine as engine_lib
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import preflight as preflight_lib
from adanet.ensemble_search import proposals
from adanet.ensemble_search import rounds as rounds_lib
from adanet.ensemble_search import samples
from adanet.ensemble_search import settings as settings_lib
from adanet.ensemble_search import workers


class SearchRun:
  """A call of `EnsembleSearch.fit` on the directory of a search.

  Attributes:
    judge: `Judge` of networks and ensembles; None before a model was checked,
      or if no network has ended and none is to train.
  """

  def __init__(self, directory: files.Directory,
               settings: settings_lib.SearchSettings,
               data: settings_lib.FitData, training: settings_lib.FitTraining,
               amount: settings_lib.FitAmount):
    """Divides the data, and gives `settings` a seed."""
    self._stop = engine_lib.Stop(amount.max_seconds)
    self._directory = directory
    self._settings = settings
    self._amount = amount
    self._limits = amount.limits(settings.combine)
    # What search.json has; None for a new search.
    self._recorded = directory.read()
    if settings.seed is None:
      settings.seed = (
          random.SystemRandom().randrange(2**31) if self._recorded is None else
          self._recorded["seed"])
    self._training = training.complete(settings)
    self._is_series = data.is_series
    self._splits, digests = data.split(settings.seed)
    arguments.check_finalists(amount.finalists, len(self._splits))
    self._digests = {**digests, **training.digests(), **settings.digests()}
    self.judge: judge_lib.Judge | None = None

  def run(self) -> None:
    """Does what is left of the search."""
    with self._directory.locked(), display_lib.display(
        self._amount.verbose, self._settings.monitor.name) as display:
      self._prepare(display)
      try:
        self._train()
      except BaseException:
        with contextlib.suppress(Exception):
          self._select()  # What has ended counts, whatever ended fit.
        raise
      if self.judge is None:  # No network is to train.
        self._write()
      display.end(history.read(str(self._directory.path)), self._stop.is_set())

  def _prepare(self, display):
    """Repairs the directory, and compares the search with what it has."""
    directory, settings, splits = self._directory, self._settings, self._splits
    samples.remove_damaged(directory)
    store = candidates.CandidateStore(directory, repairs=True)
    self._display = display
    self._rounds = rounds_lib.SearchRounds(proposals.Proposer(
        directory, store, settings.functions, self._training, len(splits),
        self._limits, settings.sampler, self._amount.enqueue))
    if self._recorded is not None:
      arguments.compare(str(directory.path), self._recorded, settings.seed,
                        self._digests)
    changes.check_functions(directory, self._rounds, splits)
    display.begin(str(directory.path), splits, len(settings.functions))
    has_executor = self._amount.executor is not None
    is_repeated = self._limits.iterations * len(splits) > 1
    self._preflight = preflight_lib.Preflight(
        splits, directory, store, settings.functions, settings.arguments,
        settings.combine, has_executor, is_repeated)
    self._engine = engine_lib.SearchEngine(
        splits, directory, self._stop, display.epoch, self._preflight.kept,
        is_repeated, self._send if has_executor else None,
        self._amount.parallel)

  def _send(self):
    """Sends the search to the workers of the executor."""
    source = self._splits[0].source
    return workers.send(self._directory, workers.SentSearch(
        self._settings.functions, self._training, source,
        getattr(self._splits[0].held_out, "source", None), workers.settings(),
        workers.specs_of(source)), self._amount.executor,
                        self._preflight.signatures)

  def _train(self):
    """Trains the networks that have not ended, round by round."""
    rounds, preflight = self._rounds, self._preflight
    for tasks in rounds.rounds():
      if rounds.unfinished(tasks):
        self._engine.prepare()
      late = preflight.check(rounds.unfinished(tasks))
      rounds.check_failures(tasks)
      if self.judge is None:
        self.judge = preflight.make_judge(rounds.find_ended)
        self._write()
      waiting = preflight.tasks_to_train(rounds.unfinished(tasks))
      trained = self._engine.train(waiting, self._amount.executor)
      for key, record in itertools.chain(
          late, rounds.failed(tasks), trained):
        rounds.end(key, record, self.judge)
        self._display.network(key, record)
      rounds.check_failures(tasks)
      self._select()
      if self._stop.is_set():
        return

  def _select(self):
    """Selects the ensemble of what has ended."""
    if self.judge is not None:
      self._rounds.judge_all(self.judge)
      judge_lib.select_ensemble(
          self._directory, self.judge, self._rounds.shortlist(),
          self._stop.is_late, self._display.line)

  def _write(self):
    """Writes what the search is."""
    settings, rounds, judge = self._settings, self._rounds, self.judge
    content = dict(self._recorded or {})
    if judge is not None:
      judge_lib.check_recorded(self._directory, rounds.store,
                               settings.functions, judge, rounds.judged_by)
      content.update(judge=judge.arguments.to_json(), outputs=judge.names)
    elif self._recorded is None:
      raise ValueError("models: their functions have pruned all trials: "
                       "expected a model of at least one.")
    self._directory.write({
        **content, "seed": settings.seed, "digests": self._digests,
        "models": list(settings.functions), "monitor": settings.monitor,
        "finalists": self._limits.finalists,
        "max_members": self._limits.max_members,
        "combine": combining.registered_name(settings.combine),
        "is_series": self._is_series, "judged_by": rounds.judged_by,
        "arguments": settings.arguments.to_json(),
        **samples.write(self._directory, self._splits)})
