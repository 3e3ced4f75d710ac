# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation, prediction and export of the best ensemble of a search."""

from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence
from typing import TypeVar

from adanet import checks
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import model_dir as model_dir_lib
from adanet.core import user_input
from adanet.estimator import arguments
from adanet.estimator import best_ensemble
from adanet.estimator import prediction
from adanet.estimator import saved_model
from adanet.search import search_files
from adanet.tf_compat import checkpoint_file
from adanet.training import arrays
from adanet.training import setup as setup_lib
from adanet.training import signals

_InputFn = Callable[..., Any]
_Hooks = Optional[Sequence[Any]]
_T = TypeVar("_T")


class Answering:
  """The methods of `adanet.Estimator` that use the best ensemble.

  Another process may train in `model_dir` meanwhile. If that process deletes
  the latest checkpoint before a method has read it, the method begins again
  with the checkpoint that is the latest by then.
  """

  _setup: setup_lib.SearchSetup  # `train` may replace the setup.

  def __init__(self, setup: setup_lib.SearchSetup):
    """Reads nothing yet."""
    self._setup = setup
    self._folder: model_dir_lib.ModelDir = setup.model_dir
    self._winner = search_files.AnsweringWinner()

  def _best(self, checkpoint_path):
    """Returns the `BestEnsemble` of a checkpoint; None for the latest."""
    return best_ensemble.BestEnsemble(
        self._setup, self._winner,
        self._folder.answering_checkpoint(checkpoint_path),
        is_latest=not checkpoint_path)

  def _answer(self, answer: Callable[[best_ensemble.BestEnsemble], _T],
              checkpoint_path: Optional[str],
              chosen: Optional[best_ensemble.BestEnsemble] = None) -> _T:
    """Returns what a function returns for the `BestEnsemble` of a checkpoint.

    The function is called again if it has read the latest checkpoint, and that
    was deleted meanwhile.

    Args:
      checkpoint_path: str, the prefix of the checkpoint; None for the latest.
      chosen: the `BestEnsemble` to begin with, or None.
    """
    bests = [] if chosen is None else [chosen]

    def call():
      return answer(bests.pop() if bests else self._best(checkpoint_path))

    return call() if checkpoint_path else checkpoints.read_latest(call)

  def _read(self, read: Callable[[str], _T]) -> _T:
    """Returns what a function reads in the latest checkpoint."""
    def read_saved():
      checkpoint = self._folder.saved_checkpoint()
      with checkpoints.explained(checkpoint):
        return read(checkpoint_file.readable(checkpoint))

    return checkpoints.read_latest(read_saved)

  def evaluate(self, input_fn: _InputFn, steps: Optional[int] = None,
               hooks: _Hooks = None,
               checkpoint_path: Optional[str] = None,
               name: Optional[str] = None) -> Dict[str, Any]:
    """Evaluates the best ensemble so far.

    For example::

        metrics = estimator.evaluate(test_input_fn, steps=20)
        print(metrics["average_loss"], metrics["global_step"])

    Args:
      input_fn: see `train`.
      steps: int, the number of batches; None for all of the input.
      hooks: sequence of `SessionRunHook`.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.
      name: str, distinguishes evaluations in TensorBoard, or None.

    Returns:
      Dict from the name of a metric to the value: the metrics of the head and
      of `metric_fn`, "loss", "global_step", "iteration", and
      "best_ensemble_index_<t>" for each iteration t. Numbers are Python
      numbers, so `json.dumps` accepts the dict. AdaNet's
      "architecture/adanet/ensembles", a serialized `Summary`, is hidden from
      iteration but available by key.

    Raises:
      EmptyInputError: the input has no batch.
      ValueError: `model_dir` has no checkpoint, `steps` is less than 1, or
        the input does not fit the model.
      TypeError: `steps` is not an integer, or `name` is not a str.
    """
    user_input.check_input_fn(input_fn)
    checks.check_count("steps", steps, or_none=True)
    arguments.check_name(name)
    checked_hooks = arguments.checked_hooks(hooks)
    with signals.StopRequests():
      return self._answer(lambda best: best.evaluate(
          input_fn, steps, checked_hooks, name), checkpoint_path)

  def predict(self, input_fn: _InputFn, predict_keys: Any = None,
              hooks: _Hooks = None,
              checkpoint_path: Optional[str] = None,
              yield_single_examples: bool = True) -> Iterator[Any]:
    """Yields the predictions of the best ensemble so far.

    For example::

        for prediction in estimator.predict(input_fn):
          print(prediction["class_ids"])

    Args:
      input_fn: function that returns features, or as in `train`; labels are
        ignored. Predictions end where the dataset ends. An empty dataset has no
        predictions.
      predict_keys: list of the keys of the predictions to yield; None for all.
      hooks: sequence of `SessionRunHook`.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.
      yield_single_examples: whether to yield single examples instead of
        batches.

    Yields:
      Dict from key to array, for each example or batch.

    Raises:
      ValueError: `model_dir` has no checkpoint, or no prediction has a key of
        `predict_keys`.
    """
    user_input.check_input_fn(input_fn)
    arrays.warn_if_shuffled(input_fn)
    # So that there is an error now, not at the first prediction.
    chosen = self._answer(lambda best: best, checkpoint_path)
    return prediction.predict(
        lambda answer: self._answer(answer, checkpoint_path, chosen), input_fn,
        predict_keys, arguments.checked_hooks(hooks), yield_single_examples)

  def predictor(self, features: Any, predict_keys: Any = None,
                checkpoint_path: Optional[str] = None) -> prediction.Predictor:
    """Returns a function that predicts for arrays in memory.

    A `Predictor` builds the graph once, whereas each call of `predict` builds a
    new graph. A `Predictor` stays with its checkpoint even if training
    continues. For example::

        with estimator.predictor({"pixels": images[:1]}) as predict:
          print(predict({"pixels": images[7:9]})["class_ids"])

    Args:
      features: sample features: an array, a dict from name to array, or a data
        frame, with at least one row and with the names, types and shapes of the
        training features.
      predict_keys: see `predict`.
      checkpoint_path: see `predict`.

    Returns:
      A `Predictor`, which threads may share. `close`, or the end of a `with`
      block, frees the session.

    Raises:
      TypeError: `features` contains a value that is not an array.
      ValueError: `model_dir` has no checkpoint, no prediction has a key of
        `predict_keys`, or `features` does not fit the model.
    """
    return self._answer(lambda best: prediction.Predictor(
        best, features, predict_keys), checkpoint_path)

  def export_saved_model(
      self, export_dir_base: str,
      serving_input_receiver_fn: Callable[[], Any],
      assets_extra: Optional[Dict[str, str]] = None,
      as_text: bool = False,
      checkpoint_path: Optional[str] = None) -> bytes:
    """Exports the best ensemble as a SavedModel for TensorFlow Serving.

    For example::

        from adanet.estimator import export
        path = estimator.export_saved_model(
            "serving", export.build_raw_serving_input_receiver_fn(input_fn))

    Args:
      export_dir_base: str, the folder in which to create the new folder
        `<timestamp>`.
      serving_input_receiver_fn: function without arguments that returns a
        `ServingInputReceiver` of `adanet.estimator.export` or of
        `tf.estimator.export`.
      assets_extra: dict from a path in `assets.extra` to the path of the file
        to copy, or None.
      as_text: whether to write the graph as text.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.

    Returns:
      The path of the new folder, as bytes.

    Raises:
      ValueError: `model_dir` has no checkpoint.
    """
    return self._answer(lambda best: saved_model.export(
        best, export_dir_base, serving_input_receiver_fn, assets_extra,
        as_text), checkpoint_path)

  def export_savedmodel(
      self, export_dir_base: str,
      serving_input_receiver_fn: Callable[[], Any],
      assets_extra: Optional[Dict[str, str]] = None,
      as_text: bool = False,
      checkpoint_path: Optional[str] = None,
      strip_default_attrs: bool = False) -> bytes:
    """Exports the best ensemble: the older name of `export_saved_model`.

    Args:
      export_dir_base, serving_input_receiver_fn, assets_extra, as_text: see
        `export_saved_model`.
      checkpoint_path: see `export_saved_model`.
      strip_default_attrs: whether to omit default attribute values from the
        graph.

    Returns:
      See `export_saved_model`.

    Raises:
      ValueError: see `export_saved_model`.
    """
    return self._answer(lambda best: saved_model.export(
        best, export_dir_base, serving_input_receiver_fn, assets_extra, as_text,
        strip_default_attrs), checkpoint_path)

  def latest_checkpoint(self) -> Optional[str]:
    """Returns the prefix of the latest checkpoint, or None."""
    return self._setup.model_dir.latest_checkpoint()

  def get_variable_names(self) -> List[str]:
    """Returns the names of all variables of the latest checkpoint."""
    return [name for name, _ in self._read(
        tf_compat.v1.train.list_variables)]

  def get_variable_value(self, name: str) -> Any:
    """Returns the value of a variable of the latest checkpoint as an array."""
    return self._read(
        lambda checkpoint: tf_compat.v1.train.load_variable(checkpoint, name))
