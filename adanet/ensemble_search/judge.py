# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Judges networks and ensembles by held-out rows, and selects the ensemble.

Keras judges: a model of `Identity` layers, compiled with the search's loss and
metrics, is evaluated on predictions in batches of 256 rows. So a value is what
`search.model.evaluate` returns, for ensembles and for each network alone.
"""

from collections.abc import Callable, Iterable, Iterator
import functools
import itertools
import math
from typing import Any, NamedTuple

from adanet import log
from adanet import tf_compat
from adanet.ensemble import selection
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import samples
from adanet.ensemble_search import steps as steps_lib
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
# Of the candidates that one call judges.
_MAX_CANDIDATE_BYTES = 64 << 20
# Ensembles are selected by a sample of so many held-out rows.
_MAX_SELECTION_ROWS = 10**6
# Ensembles are selected from so many of the best candidates. Source: Caruana,
# Munson and Niculescu-Mizil 2006, "Getting the most out of ensemble selection":
# without the worst models, selection is faster and overfits less.
_MAX_CANDIDATES = 64


class Judge:
  """Judges predictions of the held-out rows of one fold, or of all folds.

  The predictions of all folds are joined in the order of the folds.

  Attributes:
    arguments: `CompileArguments` of the ensemble.
    names: list with the names of the ensemble's outputs, or None.
    monitor: `Monitor` of the search.
    combine: the function that combines networks; None for their mean.
  """

  def __init__(self, arguments: models_lib.CompileArguments, labels: list,
               example: records.HeldOutPredictions, names: list[str] | None,
               monitor: records.Monitor = records.Monitor(),
               combine: Any = None):
    """Makes a judge by the labels and weights of each fold."""
    self.arguments = arguments
    self.names = names
    self.monitor = monitor
    self.combine = combine
    self._labels = labels
    self._all_labels = (labels[0] if len(labels) == 1 else
                        rows_lib.join_labels(labels))
    x, outputs = [], []
    output_names = ensemble_model.name_outputs(example.outputs, names)
    for name, array, mask in zip(output_names, example.outputs, example.masks):
      # A policy of low precision is not for predictions.
      options = {"name": name, "dtype": array.dtype.name}
      x.append(keras.Input(array.shape[1:], dtype=array.dtype.name))
      if mask is None:
        outputs.append(keras.layers.Identity(**options)(x[-1]))
      else:  # The loss heeds the mask of its input.
        x.append(keras.Input(mask.shape[1:], dtype="bool"))
        outputs.append(keras.layers.Lambda(
            lambda inputs: inputs[0] + 0, mask=lambda inputs, _: inputs[1],
            **options)(x[-2:]))
    model = keras.Model(x, keras.tree.pack_sequence_as(
        example.structure, outputs))
    arguments.compile(model)
    batch = (x, *self._labels[0])
    layout = rows_lib.layout_of(batch, list(map(
        rows_lib.spec_of, rows_lib.flat_arrays(batch))), None)
    self._model = model
    self._steps = steps_lib.Steps(model, layout, layout, 0)
    self._check_batches = self._steps.check_batches.get_concrete_function()

  def values(self, outputs: list, masks: list, fold: int | None = None
            ) -> dict[str, float]:
    """Returns what `evaluate` returns, with "val_" before each name."""
    labels = self._all_labels if fold is None else self._labels[fold]
    flat = list(map(tf.constant, _interleave(outputs, masks)))
    flat += rows_lib.flat_arrays(labels)
    self._model.reset_metrics()
    logs = {}
    for numbers in _batches_of(outputs):
      logs = self._check_batches(flat, numbers)
    return {"val_" + name: value for name, value in self._steps.logs(
        "test_step", logs).items()}

  def select_weights(self, predictions: list[records.HeldOutPredictions],
                     max_members: int | None = None,
                     is_stopped: Callable[[], bool] = lambda: False,
                     say: Callable[[str], None] = log.warning,
                     fold: int | None = None) -> tuple[float, ...]:
    """Returns the weights of networks in the ensemble with the least loss."""
    if len(predictions) == 1:
      return (1.,)
    labels = self._all_labels if fold is None else self._labels[fold]
    count = len(predictions[0].outputs[0])
    if count > _MAX_SELECTION_ROWS:
      say(f"Selecting the ensemble by {_MAX_SELECTION_ROWS:,} of the "
          f"{count:,} held-out rows.")
      rows = np.sort(np.random.RandomState(0).choice(
          count, _MAX_SELECTION_ROWS, replace=False))
      predictions = [_select_rows(member, rows) for member in predictions]
      labels = rows_lib.map_arrays(
          lambda tensor: rows_lib.reader(tensor)(rows), labels)

    def combine(networks):
      weights = [networks.count(i) / len(networks)
                 for i in range(len(predictions))]
      return dict(enumerate(combining.combine_predictions(
          self.combine, predictions, weights)))

    return selection.select(
        [dict(enumerate(member.outputs)) for member in predictions],
        self._losses_of(predictions[0].outputs, _masks_of_any(predictions),
                        labels), [0.] * len(predictions),
        max_members=max_members, is_stopped=is_stopped,
        combine=combine if self.combine else None).weights

  def _losses_of(self, outputs, masks, labels):
    """Returns `losses` of `selection.select`; the loss decides ties.

    A call of TensorFlow judges several ensembles, as `values` judges one.
    """
    batches = _batches_of(outputs)
    flat_labels = rows_lib.flat_arrays(labels)
    names = list(dict.fromkeys(
        [self.monitor.name.removeprefix("val_"), "loss"]))
    logs_of_batch = steps_lib.flat_logs(self._check_batches.structured_outputs)
    dtypes = [logs_of_batch[name].dtype for name in names]

    def judge_ensemble(outputs):
      self._model.reset_metrics()
      flat = _interleave(outputs, masks) + flat_labels
      logs = [self._check_batches(flat, numbers) for numbers in batches]
      last = steps_lib.flat_logs(logs[-1])
      return [last[name] for name in names]

    @functools.partial(tf.function, autograph=False, input_signature=[[
        tf.TensorSpec([None, *array.shape], array.dtype) for array in outputs]])
    def judge_ensembles(outputs):
      return tf.map_fn(judge_ensemble, outputs, parallel_iterations=1,
                       fn_output_signature=dtypes)

    size = sum(array.nbytes for array in outputs)
    count = max(1, _MAX_CANDIDATE_BYTES // size)

    def judge(means: Iterator[dict]) -> Iterator[tuple[float, ...]]:
      # The selection overwrites its arrays.
      copies = ([array.copy() for array in mean.values()] for mean in means)
      for copy in copies:
        chunk = [copy, *itertools.islice(copies, count - 1)]
        stacked = [tf.constant(np.stack(arrays)) for arrays in zip(*chunk)]
        costs = [tensor.numpy().tolist() for tensor in judge_ensembles(stacked)]
        if self.monitor.mode == "max":
          costs[0] = [-value for value in costs[0]]
        yield from zip(*costs)

    return judge


def _interleave(outputs, masks):
  """Returns each output, followed by its mask if there is one."""
  return [array for pair in zip(outputs, masks) for array in pair
          if array is not None]


def _batches_of(outputs):
  """Returns the numbers of the rows of each batch."""
  return list(map(tf.constant, rows_lib.in_batches(
      np.arange(len(outputs[0]), dtype=np.int32), rows_lib.CHECK_SIZE)))


def _select_rows(predictions, rows):
  """Returns some rows of `HeldOutPredictions`."""
  return predictions._replace(
      outputs=[array[rows] for array in predictions.outputs],
      masks=[mask if mask is None else mask[rows]
             for mask in predictions.masks])


def _masks_of_any(predictions):
  """Returns for each output where a network has predicted it."""
  return [None if masks[0] is None else np.logical_or.reduce(masks)
          for masks in zip(*(member.masks for member in predictions))]


def needs_values(directory: files.Directory,
                 candidate: candidates_lib.SearchCandidate, judged_by: str,
                 key: records.NetworkKey) -> bool:
  """Returns whether values of a network are missing, or are of other ones."""
  record = directory.folder(key).predicted_record()
  return record is not None and (
      candidate.judged_by != judged_by or
      candidate.judged.get(key.fold) != record.predictions_id)


def record_values(directory: files.Directory,
                  store: candidates_lib.CandidateStore, judge: Judge,
                  judged_by: str, key: records.NetworkKey) -> None:
  """Writes the values of a network that has ended, and of its candidate."""
  candidate = store.get(key.member)
  record = directory.folder(key).predicted_record()
  if record is None:
    return
  if candidate.judged_by != judged_by:
    candidate.forget_values()
    candidate.judged_by = judged_by
  predictions = directory.folder(key).predictions()
  candidate.values[key.fold] = judge.values(
      predictions.outputs, predictions.masks, key.fold)
  candidate.judged[key.fold] = record.predictions_id
  candidate.all_values = {}
  if candidate.folds == 1:
    candidate.all_values = candidate.values[key.fold]
  elif len(candidate.values) == candidate.folds:
    mean = _read_mean(directory, candidate.keys())
    candidate.all_values = judge.values(mean.outputs, mean.masks)
  store.write(candidate)


def _read_mean(directory, keys):
  """Returns the predictions of networks of some folds as those of a member."""
  parts = [directory.folder(key).predictions() for key in keys]
  return steps_lib.join_predictions(
      parts[0].structure, [part[1:] for part in parts])


def check_recorded(directory: files.Directory,
                   store: candidates_lib.CandidateStore,
                   functions: Iterable[str], judge: Judge, judged_by: str
                  ) -> None:
  """Raises an error if a network was judged by another loss than now.

  A loss may differ by a global, a closure or its code, which no digest tells.
  """
  for candidate in store:
    for fold, before in candidate.values.items():
      key = candidate.key(fold)
      record = directory.folder(key).predicted_record()
      # A network that was out of time may have trained on since.
      if record is None or candidate.function not in functions or needs_values(
          directory, candidate, judged_by, key):
        continue
      predictions = directory.folder(key).predictions()
      loss, now = before["val_loss"], judge.values(
          predictions.outputs, predictions.masks, fold)["val_loss"]
      if not np.isclose(loss, now, 1e-3, 1e-6, equal_nan=True):
        raise ValueError(
            f"directory={str(directory.path)!r} has a search with something "
            f"else: loss or held-out data give {key.name!r} val_loss {now:.4g} "
            f"now, and gave {loss:.4g} before. Give the original arguments, or "
            "another directory.")
      return


class Limits(NamedTuple):
  """How much a search is to do, over all calls; see `EnsembleSearch`."""
  iterations: int = 1
  trials: int | None = None
  finalists: int | None = None
  max_members: int | None = None
  combine: Any = None


class Shortlist(NamedTuple):
  """What an ensemble is selected from: candidates, by their first `folds`.

  `finalists` train all folds, best first. `combine` is a registered name.
  """
  candidates: list[candidates_lib.SearchCandidate]
  folds: int
  finalists: list[candidates_lib.SearchCandidate]
  max_members: int | None
  combine: str

  def to_json(self) -> dict[str, Any]:
    """Returns what tells whether an ensemble was selected from the same."""
    return {"from": sorted([candidate.name, candidate.judged_by, [
        candidate.judged[fold] for fold in range(self.folds)]]
                           for candidate in self.candidates),
            "max_members": self.max_members, "combine": self.combine}


def make_shortlist(store: candidates_lib.CandidateStore,
                   functions: Iterable[str], monitor: records.Monitor,
                   limits: Limits) -> Shortlist:
  """Returns what the ensemble of some functions is selected from.

  Before a finalist has all folds, this is the networks of the first fold.
  """
  known = [candidate for candidate in store if candidate.function in functions]
  folds = known[0].folds if known else 1
  able = [candidate for candidate in known
          if candidate.all_values and not candidate.error]
  if limits.finalists is None:
    return Shortlist(able, folds, [], limits.max_members,
                     combining.registered_name(limits.combine))
  begun = [candidate for candidate in known if 0 in candidate.values]
  finalists = sorted(
      (candidate for candidate in begun
       if not math.isnan(candidate.values[0][monitor.name])),
      key=lambda candidate: monitor.cost(candidate.values[0])
  )[:limits.finalists]
  complete = [candidate for candidate in able if candidate in finalists]
  if not complete:
    complete, folds = begun, 1
  return Shortlist(complete, folds, finalists, limits.max_members,
                   combining.registered_name(limits.combine))


def select_ensemble(directory: files.Directory, judge: Judge,
                    shortlist: Shortlist,
                    is_stopped: Callable[[], bool] = lambda: False,
                    say: Callable[[str], None] = log.warning) -> None:
  """Selects an ensemble, and writes ensemble.json."""
  candidates, folds = shortlist.candidates, shortlist.folds
  if not candidates:
    return
  fold = None if folds == candidates[0].folds else 0
  monitor = judge.monitor.name
  values = {candidate.name: candidate.all_values if fold is None else
            candidate.values[0] for candidate in candidates}
  finite = [name for name, value in values.items()
            if np.isfinite([value["val_loss"], value[monitor]]).all()]
  if not finite:
    raise ValueError(
        f"{monitor} is NaN for each network: expected a finite {monitor}. Try "
        "a smaller learning rate, or look for values in x and y that are too "
        "large.")
  best = sorted(finite, key=lambda name: judge.monitor.cost(values[name]))[
      :_MAX_CANDIDATES]
  means = {candidate.name: _read_mean(directory, candidate.keys()[:folds])
           for candidate in candidates if candidate.name in best}
  weights = dict.fromkeys(values, 0.) | dict(zip(means, judge.select_weights(
      list(means.values()), max_members=shortlist.max_members,
      is_stopped=is_stopped, say=say, fold=fold)))
  used = {name: mean for name, mean in means.items() if weights[name]}
  outputs = combining.combine_predictions(
      judge.combine, list(used.values()), [weights[name] for name in used])
  content = {
      **shortlist.to_json(), "folds": folds, "is_stopped": is_stopped(),
      "values": judge.values(outputs, _masks_of_any(used.values()), fold),
      "weights": weights}
  compared = []
  if judge.combine is not None:
    compared = combining.outputs_to_compare(
        directory, [(weights[candidate.name], candidate.keys()[:folds])
                    for candidate in candidates], judge.combine)
  directory.write_ensemble(content, compared)


def select_again(directory: files.Directory, content: dict[str, Any],
                 arguments: models_lib.CompileArguments, combine: Any) -> None:
  """Selects the ensemble without the data, as the last call of `fit` asked."""
  store = candidates_lib.CandidateStore(directory)
  ended = [key for candidate in store for key in candidate.keys()
           if candidate.function in content["models"] and
           directory.folder(key).predicted_record() is not None]
  if not ended:
    raise ValueError("No network has finished yet. Call fit again with the "
                     "same data.")
  path = directory.path / files.ENSEMBLE
  log.warning("%sSelecting the ensemble of the networks that have ended.",
              f"{str(path)!r} cannot be read. " if path.exists() else "")
  judge = Judge(
      arguments, samples.read_labels(directory, content),
      directory.folder(ended[0]).predictions(), content["outputs"],
      directory.monitor(), combine)
  for key in ended:
    if needs_values(directory, store.get(key.member), content["judged_by"],
                    key):
      record_values(directory, store, judge, content["judged_by"], key)
  shortlist = make_shortlist(store, content["models"], judge.monitor, Limits(
      finalists=content["finalists"], max_members=content["max_members"],
      combine=combine))
  if not shortlist.candidates:
    raise ValueError("No function has finished all folds yet. Call fit again "
                     "with the same data.")
  select_ensemble(directory, judge, shortlist)
