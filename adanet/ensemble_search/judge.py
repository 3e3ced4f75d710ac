# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Judges networks and ensembles by held-out rows, and selects the ensemble.

Keras judges: a model of `Identity` layers, compiled with the search's loss and
metrics, is evaluated on predictions in batches of 256 rows. So a value is what
`search.model.evaluate` returns, for ensembles and for each network alone.
"""

from collections.abc import Callable, Iterable, Iterator
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


class Masked(keras.layers.Layer):
  """Returns an output with its mask, which the loss then heeds."""

  def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.supports_masking = True

  def call(self, inputs):
    return inputs[0] + 0

  def compute_output_shape(self, input_shape):
    return input_shape[0]

  def compute_mask(self, inputs, previous_mask):
    return inputs[1]


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
               monitor: records.Monitor = records.Monitor(), combine: Any = None):
    """Makes the model that evaluates predictions.

    `labels` has the labels and weights of the held-out rows of each fold, and
    `example` the shapes of predictions.
    """
    self.arguments = arguments
    self.names = names
    self.monitor = monitor
    self.combine = combine
    self._labels = labels
    self._all_labels = (labels[0] if len(labels) == 1 else
                        rows_lib.join_labels(labels))
    x, outputs = [], []
    for name, array, mask in zip(
        ensemble_model.name_outputs(example.outputs, names), example.outputs,
        example.masks):
      # A policy of low precision is not for predictions.
      options = {"name": name, "dtype": array.dtype.name}
      x.append(keras.Input(array.shape[1:], dtype=array.dtype.name))
      if mask is None:
        outputs.append(keras.layers.Identity(**options)(x[-1]))
      else:
        x.append(keras.Input(mask.shape[1:], dtype="bool"))
        outputs.append(Masked(**options)(x[-2:]))
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
    """Returns what `evaluate` returns, with "val_" before each name.

    `outputs` and `masks` are those of `HeldOutPredictions` for the rows of a
    fold; None for all folds.
    """
    flat = [tf.constant(array) for pair in zip(outputs, masks) for array in pair
            if array is not None] + rows_lib.flat_arrays(
                self._all_labels if fold is None else self._labels[fold])
    self._model.reset_metrics()
    logs = {}
    for numbers in rows_lib.in_batches(np.arange(
        len(outputs[0]), dtype=np.int32), rows_lib.CHECK_SIZE):
      logs = self._check_batches(flat, tf.constant(numbers))
    return {"val_" + name: value for name, value in self._steps.logs(
        "test_step", logs).items()}

  def select_weights(self, predictions: list[records.HeldOutPredictions],
                     max_members: int | None = None,
                     is_stopped: Callable[[], bool] = lambda: False,
                     say: Callable[[str], None] = log.warning,
                     fold: int | None = None) -> tuple[float, ...]:
    """Returns the weights of networks in the ensemble with the least loss.

    `predictions` are for the rows of a fold; None for all folds.
    """
    if len(predictions) == 1:
      return (1.,)
    labels = self._all_labels if fold is None else self._labels[fold]
    count = len(predictions[0].outputs[0])
    if count > _MAX_SELECTION_ROWS:
      say(f"Selecting the ensemble by {_MAX_SELECTION_ROWS:,} of the "
          f"{count:,} held-out rows.")
      rows = np.sort(np.random.RandomState(0).choice(
          count, _MAX_SELECTION_ROWS, replace=False))
      predictions = [records.HeldOutPredictions(member.structure, *(
          [array if array is None else array[rows] for array in arrays]
          for arrays in member[1:])) for member in predictions]
      labels = rows_lib.map_arrays(
          lambda tensor: rows_lib.reader(tensor)(rows), labels)
    combine = lambda networks: dict(enumerate(combining.combine_predictions(
        self.combine, predictions, [
            networks.count(i) / len(networks)
            for i in range(len(predictions))])))
    return selection.select(
        [dict(enumerate(member.outputs)) for member in predictions],
        self._losses_of(predictions[0].outputs, _masks_of_any(predictions),
                        labels), [0.] * len(predictions),
        max_members=max_members, is_stopped=is_stopped,
        combine=combine if self.combine else None).weights

  def _losses_of(self, outputs, masks, labels):
    """Returns a function from predictions to losses; see `selection.select`.

    Where another value than the loss is monitored, the loss decides ties. A
    call of TensorFlow judges several ensembles, as `values` judges one.
    """
    batches = list(map(tf.constant, rows_lib.in_batches(
        np.arange(len(outputs[0]), dtype=np.int32), rows_lib.CHECK_SIZE)))
    flat_labels = rows_lib.flat_arrays(labels)
    names = list(dict.fromkeys(
        [self.monitor.name.removeprefix("val_"), "loss"]))

    def loss(outputs):
      self._model.reset_metrics()
      flat = [array for pair in zip(outputs, masks) for array in pair
              if array is not None] + flat_labels
      logs = [self._check_batches(flat, numbers) for numbers in batches]
      last = steps_lib.flat_logs(logs[-1])
      return [last[name] for name in names]

    known = steps_lib.flat_logs(self._check_batches.structured_outputs)
    losses = tf.function(lambda candidates: tf.map_fn(
        loss, candidates, parallel_iterations=1,
        fn_output_signature=[known[name].dtype for name in names]),
                         autograph=False).get_concrete_function([
        tf.TensorSpec([None, *array.shape], array.dtype) for array in outputs])

    def judge(means: Iterator[dict]) -> Iterator[float]:
      copies = ([array.copy() for array in mean.values()] for mean in means)
      for first in copies:
        count = _MAX_CANDIDATE_BYTES // sum(array.nbytes for array in first)
        chunk = [first, *itertools.islice(copies, max(0, count - 1))]
        costs = [tensor.numpy().tolist() for tensor in losses([
            tf.constant(np.stack(arrays)) for arrays in zip(*chunk)])]
        if self.monitor.mode == "max":
          costs[0] = [-value for value in costs[0]]
        yield from zip(*costs)

    return judge


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
  candidate.values[key.fold] = candidate.all_values = judge.values(
      *predictions[1:], fold=key.fold)
  candidate.judged[key.fold] = record.predictions_id
  if candidate.folds > 1:
    candidate.all_values = judge.values(*_read_mean(
        directory, candidate.keys())[1:]) if len(
            candidate.values) == candidate.folds else {}
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
  """Raises a ValueError if networks were judged by another loss than now.

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
      loss, now = before["val_loss"], judge.values(
          *directory.folder(key).predictions()[1:], fold=fold)["val_loss"]
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
  """What an ensemble is selected from.

  Attributes:
    candidates: list of `SearchCandidate`.
    folds: int, the first folds, whose rows judge and whose networks are members
      of the ensemble.
    finalists: list of the candidates that train all folds, best first.
    max_members: as in `EnsembleSearch.fit`.
    combine: str, the registered name of the function; "" for the mean.
  """
  candidates: list[candidates_lib.SearchCandidate]
  folds: int
  finalists: list[candidates_lib.SearchCandidate]
  max_members: int | None
  combine: str

  def to_json(self) -> dict[str, Any]:
    """Returns what tells whether an ensemble was selected from the same."""
    return {"from": [[candidate.name, candidate.judged_by, [
        candidate.judged[fold] for fold in range(self.folds)]]
                     for candidate in self.candidates],
            "max_members": self.max_members, "combine": self.combine}


def make_shortlist(store: candidates_lib.CandidateStore,
                   functions: Iterable[str], monitor: records.Monitor,
                   limits: Limits) -> Shortlist:
  """Returns what the ensemble of the candidates of some functions may have.

  With finalists, these are the finalists that have all folds. Before there are
  such finalists, the ensemble is of the networks of the first fold.
  """
  known = [candidate for candidate in store if candidate.function in functions]
  folds = known[0].folds if known else 1
  finalists = []
  if limits.finalists is not None:
    ended = [candidate for candidate in known if 0 in candidate.values and
             not math.isnan(candidate.values[0][monitor.name])]
    finalists = sorted(ended, key=lambda candidate: monitor.cost(
        candidate.values[0]))[:limits.finalists]
  able = [candidate for candidate in known if not candidate.error]
  complete = [candidate for candidate in able if candidate.all_values and (
      limits.finalists is None or candidate in finalists)]
  if limits.finalists is not None and not complete:
    complete, folds = [
        candidate for candidate in known if 0 in candidate.values], 1
  return Shortlist(complete, folds, finalists, limits.max_members,
                   combining.registered_name(limits.combine))


def select_ensemble(directory: files.Directory, judge: Judge,
                    shortlist: Shortlist,
                    is_stopped: Callable[[], bool] = lambda: False,
                    say: Callable[[str], None] = log.warning) -> None:
  """Selects an ensemble of candidates, and writes ensemble.json.

  No other member is added after `is_stopped()`. `say` shows a line.

  Raises:
    ValueError: no candidate has a finite loss.
  """
  candidates, folds = shortlist.candidates, shortlist.folds
  if not candidates:
    return
  fold = None if folds == candidates[0].folds else 0
  values = [candidate.values[0] if fold == 0 else candidate.all_values
            for candidate in candidates]
  monitor = judge.monitor.name
  finite = [i for i, value in enumerate(values)
            if np.isfinite([value["val_loss"], value[monitor]]).all()]
  if not finite:
    raise ValueError(
        f"{monitor} is NaN for each network: expected a finite {monitor}. Try a "
        "smaller learning rate, or look for values in x and y that are too "
        "large.")
  finite = sorted(sorted(finite, key=lambda i: judge.monitor.cost(values[i]))[
      :_MAX_CANDIDATES])
  means = [_read_mean(directory, candidates[i].keys()[:folds]) for i in finite]
  weights = dict(zip(finite, judge.select_weights(
      means, max_members=shortlist.max_members, is_stopped=is_stopped, say=say,
      fold=fold)))
  used = [(mean, weights[i]) for i, mean in zip(finite, means) if weights[i]]
  content = {
      **shortlist.to_json(), "folds": folds, "is_stopped": is_stopped(),
      "values": judge.values(
          combining.combine_predictions(judge.combine, *zip(*used)),
          _masks_of_any([mean for mean, _ in used]), fold),
      "weights": {candidate.name: weights.get(i, 0.)
                  for i, candidate in enumerate(candidates)}}
  directory.write_ensemble(content, [] if judge.combine is None else (
      combining.outputs_to_compare(
          directory, [(weights.get(i, 0.), candidate.keys()[:folds])
                      for i, candidate in enumerate(candidates)],
          judge.combine)))


def select_again(directory: files.Directory, content: dict[str, Any],
                 arguments: models_lib.CompileArguments, combine: Any) -> None:
  """Selects the ensemble without the data, as the last call of `fit` asked.

  `content` is that of search.json, and `arguments` are those of the ensemble.

  Raises:
    ValueError: no network has finished.
  """
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
