# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the best ensemble as a SavedModel, in the format of `tf.estimator`."""

import os
import time
import uuid
from typing import Any, Callable, Dict, Mapping, Optional, Union

from adanet import checks
from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.estimator import arguments
from adanet.estimator import best_ensemble
from adanet.heads import export_output
from adanet.heads import head
from adanet.tf_compat import checkpoint_file
from adanet.training import input_fn as input_fn_lib
from adanet.training import sessions

_MAX_ATTEMPTS = 10

_Path = Union[str, bytes, "os.PathLike[str]"]


def _export_outputs(iteration, best):
  """Returns the exported outputs of the best candidate.

  As AdaNet does it: with more than one candidate, each output of predictions
  has the predictions of the best one.
  """
  outputs = best.export_outputs or {}
  if len(iteration.architectures) == 1:
    return outputs
  predicts = export_output.PredictOutput(best.predictions)
  return {
      name: (predicts if type(output).__name__ == "PredictOutput"
             else outputs[name])
      for name, output in iteration.candidates[0].export_outputs.items()}


def export(best: best_ensemble.BestEnsemble, export_dir_base: str,
           serving_input_receiver_fn: Callable[[], Any],
           assets_extra: Optional[Dict[str, str]], as_text: bool,
           strip_default_attrs: bool = True) -> bytes:
  """Writes a SavedModel; see `adanet.Estimator.export_saved_model`."""
  expected = "that returns an adanet.estimator.export.ServingInputReceiver"
  name = "serving_input_receiver_fn"
  arguments.check_function(name, serving_input_receiver_fn, expected)
  folder = checks.check_folder(
      "export_dir_base", export_dir_base, or_none=False)
  if not checkpoint_file.is_readable(folder):
    logging.warning(
        "TensorFlow loads no SavedModel from a folder with [ or \\ in its name: "
        "move the export out of %s before you load it.", folder)
  receivers = []

  def read(strategy):
    del strategy  # A request has all of its input.
    receiver = serving_input_receiver_fn()
    if not hasattr(receiver, "features") or not hasattr(
        receiver, "receiver_tensors"):
      raise ValueError(f"{name} must be a function {expected}, and it returned "
                       f"{messages.describe(receiver)}")
    receivers.append(receiver)
    return input_fn_lib.Input(receivers[0].features, None, [])

  with best.setup.graph_on(read, "infer", best.number) as built:
    # TensorFlow warns if a session has run the ops that it groups.
    main_op = sessions.local_init_op(built.iteration.local_init_ops)
    with best.session(built) as (session, _):
      spec = best.spec(built.iteration)
      return write_saved_model(
          export_dir_base, session,
          signature_defs(
              receivers[0].receiver_tensors,
              getattr(receivers[0], "receiver_tensors_alternatives", None),
              _export_outputs(built.iteration, spec)),
          main_op, assets_extra, as_text, strip_default_attrs)


def signature_defs(receiver_tensors: Mapping[str, Any],
                   alternatives: Optional[Mapping[str, Any]],
                   export_outputs: Mapping[str, Any]) -> Dict[str, Any]:
  """Returns the signatures of all inputs and outputs, as in `tf.estimator`.

  Inputs and an output that do not fit together have no signature; a log line
  gives the reason. For example, the "serving_default" of a head does not fit
  raw features. Then "serving_default" becomes the same as "predict", or as the
  only fitting signature. A warning reports a model without "serving_default".

  Args:
    receiver_tensors: dict from str to tensor: the inputs.
    export_outputs: dict from the name of a signature to an export output. A
      single output also becomes "serving_default".

  Returns:
    A dict from str to `SignatureDef` proto. The names of alternatives are
    `<alternative>:<output>`.

  Raises:
    ValueError: `export_outputs` has several outputs without "serving_default".
  """
  saved_model = tf_compat.v1.saved_model
  default = saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
  outputs = dict(export_outputs)
  if len(outputs) == 1:
    outputs.setdefault(default, *outputs.values())
  elif outputs and default not in outputs:
    raise ValueError(
        f"export_outputs has {sorted(outputs, key=str)}, and none is the "
        f"default. Name one of them {default!r}.")
  inputs = {"": receiver_tensors, **{
      f"{name}:": tensors for name, tensors in (alternatives or {}).items()}}
  signatures = {}
  reasons = {}
  for prefix, tensors in inputs.items():
    for key, output in outputs.items():
      name = prefix + str(key)
      try:
        signature = output.as_signature_def(tensors)
      except ValueError as e:
        reasons[name] = str(e)
        continue
      if saved_model.is_valid_signature(signature):
        signatures[name] = signature
      else:
        reasons[name] = ("TensorFlow Serving does not take its "
                         f"{signature.method_name}.")
    if not prefix and default not in signatures:
      meant = signatures.get(head.PREDICT_SERVING_KEY)
      if len(signatures) == 1:
        meant, = signatures.values()
      if meant is not None:
        signatures[default] = meant
        del reasons[default]
  for name in sorted(signatures):
    logging.info("The SavedModel has the signature %r (%s).", name,
                 signatures[name].method_name)
  for name in sorted(reasons):
    logging.info("The SavedModel has no signature %r: %s", name, reasons[name])
  if default not in signatures:
    logging.warning(
        "The SavedModel has no signature %r: requests must name one of %s.",
        default, sorted(signatures))
  return signatures


def timestamped_export_dir(base: str) -> str:
  """Returns the path of a new folder, named by the current second.

  The function waits for the next second if the folder exists. TensorFlow
  Serving serves the folder with the highest number.

  Raises:
    RuntimeError: other exports have taken ten names in a row.
  """
  gfile = tf_compat.v2.io.gfile
  for _ in range(_MAX_ATTEMPTS):
    path = os.path.join(base, str(int(time.time())))
    if not gfile.exists(path):
      return path
    logging.info("The folder %s exists. Waiting for the next second.", path)
    time.sleep(1.)
  raise RuntimeError(
      f"export_dir_base is {base!r}: others took {_MAX_ATTEMPTS} timestamps in "
      "a row. Export again, or to another folder.")


def write_saved_model(export_dir_base: _Path, session: Any,
                      signatures: Mapping[str, Any], main_op: Any,
                      assets_extra: Optional[Mapping[str, _Path]] = None,
                      as_text: bool = False,
                      strip_default_attrs: bool = True) -> bytes:
  """Writes a session as a SavedModel; returns the new folder, as bytes.

  The folder is first written as `temp-<timestamp>-<unique>` and then renamed,
  so TensorFlow Serving never sees a partial model, and several processes may
  export at a time. An error leaves no folder. The arguments are those of
  `adanet.Estimator.export_saved_model`.

  Args:
    session: session with initialized variables and a graph that is not
      finalized.
    strip_default_attrs: bool, whether to omit default attribute values, so that
      older versions of TensorFlow can load the graph.
  """
  v1 = tf_compat.v1
  gfile = tf_compat.v2.io.gfile
  base = _text(export_dir_base)
  path = timestamped_export_dir(base)
  temporary = os.path.join(
      base, f"temp-{os.path.basename(path)}-{uuid.uuid4().hex}")
  try:
    with session.graph.as_default():
      builder = v1.saved_model.Builder(temporary)
      builder.add_meta_graph_and_variables(
          session, [v1.saved_model.tag_constants.SERVING],
          signature_def_map=signatures,
          assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
          main_op=main_op,
          strip_default_attrs=strip_default_attrs)
    builder.save(as_text)
    for relative, source in (assets_extra or {}).items():
      target = os.path.join(temporary, "assets.extra", _text(relative))
      gfile.makedirs(os.path.dirname(target))
      gfile.copy(_text(source), target)
    while True:
      try:
        gfile.rename(temporary, path)
        break
      except (v1.errors.AlreadyExistsError, v1.errors.FailedPreconditionError):
        path = timestamped_export_dir(base)  # Another process took the name.
  except BaseException:
    if gfile.exists(temporary):
      gfile.rmtree(temporary)
    raise
  return path.encode()


def _text(path):
  path = os.fspath(path)
  return path.decode() if isinstance(path, bytes) else path
