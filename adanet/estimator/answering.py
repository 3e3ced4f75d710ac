# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a search answers: its best ensemble evaluates, predicts, is exported."""

from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.core import user_input
from adanet.estimator import arguments
from adanet.estimator import best_ensemble
from adanet.estimator import evaluation
from adanet.estimator import prediction
from adanet.search import answering_winner
from adanet.tf_compat import checkpoint_file
from adanet.training import arrays
from adanet.training import model as model_lib
from adanet.training import signals

_InputFn = Callable[..., Any]
_Hooks = Optional[Sequence[Any]]


class Answering:
  """The methods of an `adanet.Estimator` that ask about its best ensemble."""

  _model: model_lib.Model  # Which `train` may replace.

  def __init__(self, model: model_lib.Model):
    """Asks nothing yet."""
    self._model = model
    self._folder: model_dir_lib.ModelDir = model.model_dir
    self._winner = answering_winner.AnsweringWinner()

  def _best(self, checkpoint_path):
    """Returns the `BestEnsemble` of a checkpoint that a user gives, or None."""
    return best_ensemble.BestEnsemble(
        self._model, self._winner,
        self._folder.answering_checkpoint(checkpoint_path))

  def evaluate(self, input_fn: _InputFn, steps: Optional[int] = None,
               hooks: _Hooks = None,
               checkpoint_path: Optional[str] = None,
               name: Optional[str] = None) -> Dict[str, Any]:
    """Evaluates the best ensemble; in an iteration, the best so far.

    Args:
      input_fn: see `train`.
      steps: int, how many batches; None for all of the input.
      hooks: sequence of `SessionRunHook`.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.
      name: str, distinguishes evaluations in TensorBoard, or None.

    Returns:
      Dict from the name of a metric to its value: the metrics of the head and
      of `metric_fn`, "loss", "global_step", "iteration", and for each iteration
      "best_ensemble_index_<t>". Numbers are Python's, so `json.dumps`
      takes it. AdaNet's "architecture/adanet/ensembles", a serialized
      `Summary`, is not among the keys: `[...]` gives it to who asks for it.

    Raises:
      EmptyInputError: the input has no batch.
      ValueError: `model_dir` has no checkpoint, `steps` is not greater than 0,
        or the input does not fit.
    """
    user_input.check_input_fn(input_fn)
    arguments.check_count("steps", steps)
    arguments.check_name(name)
    with signals.StopRequests():
      return evaluation.evaluate(
          self._best(checkpoint_path), input_fn, steps,
          arguments.checked_hooks(hooks), name)

  def predict(self, input_fn: _InputFn, predict_keys: Any = None,
              hooks: _Hooks = None,
              checkpoint_path: Optional[str] = None,
              yield_single_examples: bool = True) -> Iterator[Any]:
    """Yields predictions of the best ensemble, or of the best one so far.

    Args:
      input_fn: function that returns features, or see `train`; labels are not
        used. Where a dataset ends, predictions do; an empty one has none.
      predict_keys: list of the keys of the predictions to yield; None for all.
      hooks: sequence of `SessionRunHook`.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.
      yield_single_examples: whether each example is yielded by itself, and not
        each batch.

    Yields:
      Dict from a key to an array.

    Raises:
      ValueError: `model_dir` has no checkpoint, or no prediction has a key of
        `predict_keys`.
    """
    user_input.check_input_fn(input_fn)
    arrays.warn_if_shuffled(input_fn)
    return prediction.predict(
        self._best(checkpoint_path), input_fn, predict_keys,
        arguments.checked_hooks(hooks), yield_single_examples)

  def predictor(self, features: Any, predict_keys: Any = None,
                checkpoint_path: Optional[str] = None) -> prediction.Predictor:
    """Returns a function that predicts for features that are at hand.

    It builds the graph once, where each call of `predict` builds it again, and
    keeps to its checkpoint, also if training goes on:

        with estimator.predictor({"pixels": images[:1]}) as predict:
          print(predict({"pixels": images[7:9]})["class_ids"])

    Args:
      features: an example of the features: array, dict from name to array, or
        data frame, with a row or more. The names, types and shapes are the same
        as in training.
      predict_keys: see `predict`.
      checkpoint_path: see `predict`.

    Returns:
      `Predictor`. `close`, or the end of a `with`, frees it. Threads may share
      it.

    Raises:
      TypeError: the features are no arrays.
      ValueError: see `predict`; or the features do not fit.
    """
    return prediction.Predictor(
        self._best(checkpoint_path), features, predict_keys)

  def export_saved_model(
      self, export_dir_base: str,
      serving_input_receiver_fn: Callable[[], Any],
      assets_extra: Optional[Dict[str, str]] = None,
      as_text: bool = False,
      checkpoint_path: Optional[str] = None) -> bytes:
    """Exports the best ensemble as a SavedModel for TensorFlow Serving.

    Args:
      export_dir_base: str, the folder that gets a new one, `<timestamp>`.
      serving_input_receiver_fn: function without arguments that returns an
        `adanet.estimator.export.ServingInputReceiver`, or one of
        `tf.estimator.export`.
      assets_extra: dict from a path in `assets.extra` to the file to copy
        there, or None.
      as_text: whether the graph is written as text.
      checkpoint_path: str, the prefix of a checkpoint; None for the latest.

    Returns:
      The path of the new folder, as bytes.

    Raises:
      ValueError: there is no checkpoint.
    """
    return evaluation.export(
        self._best(checkpoint_path), export_dir_base, serving_input_receiver_fn,
        assets_extra, as_text)

  def export_savedmodel(
      self, export_dir_base: str,
      serving_input_receiver_fn: Callable[[], Any],
      assets_extra: Optional[Dict[str, str]] = None,
      as_text: bool = False,
      checkpoint_path: Optional[str] = None,
      strip_default_attrs: bool = False) -> bytes:
    """The same as `export_saved_model`: its older name.

    Args:
      export_dir_base: see `export_saved_model`.
      serving_input_receiver_fn: see `export_saved_model`.
      assets_extra: see `export_saved_model`.
      as_text: see `export_saved_model`.
      checkpoint_path: see `export_saved_model`.
      strip_default_attrs: whether default values are left out of the graph.
    """
    return evaluation.export(
        self._best(checkpoint_path), export_dir_base, serving_input_receiver_fn,
        assets_extra, as_text, strip_default_attrs)

  def latest_checkpoint(self) -> Optional[str]:
    """Returns the prefix of the latest checkpoint, or None."""
    return self._model.model_dir.latest_checkpoint()

  def get_variable_names(self) -> List[str]:
    """Returns the names of all variables of the latest checkpoint."""
    return [name for name, _ in tf_compat.v1.train.list_variables(
        checkpoint_file.readable(self._folder.saved_checkpoint()))]

  def get_variable_value(self, name: str) -> Any:
    """Returns the value of a variable of the latest checkpoint, an array."""
    return tf_compat.v1.train.load_variable(
        checkpoint_file.readable(self._folder.saved_checkpoint()), name)
