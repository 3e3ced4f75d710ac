# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which names of Keras and TensorFlow the room uses, or sets, beside public ones.

Each exception has its reason.
"""

import ast
import glob
import os

from absl.testing import absltest
from absl.testing import parameterized

# Attributes of objects that are not of the room, and why they are set.
_SET = {
    "model.name": "members of an ensemble need names of their own",
    "model.stop_training": "callbacks read and set it, as in Model.fit",
    "model.run_eagerly": "an ensemble is eager if a member is",
    "model.optimizer": "a callback may change which variables train, and a new "
                       "optimizer has these",
    "model.compiled": "a file of an ensemble needs no losses of its members",
    "model.compute_output_spec": "Keras cannot ask eager layers for shapes that "
                                 "values tell",
    "layer.trainable": "Keras's pickles of models forget it",
    "optimizer.get_config": "a config of the model must not need that of the "
                            "user's learning-rate schedule",
    "tags.input_tags.sparse": "scikit-learn has an estimator change the tags of "
                              "its base class",
    "tags.input_tags.three_d_array": "as the tag above",
    "trial.study": "a recorded trial of Optuna has no study, which a function "
                   "may stop",
    "error.is_of_dataset": "the error of a user's dataset, which all networks "
                           "would have",
    "study.stop": "Optuna stops a study in optimize alone",
    "study.sampler": "a later call of fit may have another sampler",
}
# Names in the inside of Keras and TensorFlow, by way of tf_compat, and why.
_INTERNALS = {
    "seeds.seeded_thread": "Keras draws all seeds of layers from the random of "
                           "one module",
    "tensorflow_internals.eager_device": "no public name tells the device of "
                                         "the scope",
}
# These modules of tf_compat have no public names alone.
_NOT_PUBLIC = ("keras_internals", "keras_scope", "seeds",
               "tensorflow_internals")
# Objects of the room whose attributes other objects set.
_OWN = ("self", "cls", "candidate", "record", "self.record", "sent", "split",
        "split.held_out", "settings")
# Those of NamedTuples are public in spite of their underscore.
_OF_TUPLES = ("_replace", "_asdict", "_fields", "_repr_html_")
_ROOMS = ("core", "heads", "training", "engines", "search", "estimator")


def _is_private(name):
  return name.startswith("_") and not name.startswith("__") and (
      name not in _OF_TUPLES)


def _check_attribute(node):
  """Yields what is wrong with an attribute."""
  name = ast.unparse(node)
  owner = name.rpartition(".")[0]
  if _is_private(node.attr) and owner not in ("self", "cls"):
    yield f"{name} is private"
  if not isinstance(node.ctx, ast.Load) and owner not in _OWN and (
      name not in _SET):
    yield f"sets {name}"
  if owner in _NOT_PUBLIC and name not in _INTERNALS:
    yield f"uses {name}"


def _check_call(node):
  """Yields what is wrong with a call."""
  function = ast.unparse(node.func)
  if function in ("setattr", "delattr") or function.endswith(".update") and (
      "vars(" in function):
    yield function
  if function in ("getattr", "hasattr") and len(node.args) > 1:
    name = node.args[1]
    if isinstance(name, ast.Constant) and _is_private(str(name.value)):
      yield f"{name.value} is private"


def _check_import(node):
  """Yields what is wrong with an import."""
  module = getattr(node, "module", None) or ""
  for alias in node.names:
    name = f"{module}.{alias.name}".lstrip(".")
    parts = name.split(".")
    if parts[:1] == ["adanet"] and parts[1] in _ROOMS or (
        parts[0] in ("keras", "tensorflow") or "src" in parts or
        "python" in parts):
      yield f"imports {name}"


_CHECKS = {ast.Attribute: _check_attribute, ast.Call: _check_call,
           ast.Import: _check_import, ast.ImportFrom: _check_import}


def problems(source: str) -> list[str]:
  """Returns what is wrong with the text of a module."""
  return [f"{node.lineno}: {text}" for node in ast.walk(ast.parse(source))
          for text in _CHECKS.get(type(node), lambda _: ())(node)]


class PublicNamesTest(parameterized.TestCase):

  def _sources(self):
    paths = [path for path in glob.glob(
        os.path.join(os.path.dirname(__file__), "*.py"))
             if not path.endswith("_test.py")]
    self.assertGreater(len(paths), 8)
    sources = {}
    for path in paths:
      with open(path) as file:
        sources[os.path.basename(path)] = file.read()
    return sources

  def test_room(self):
    for name, source in self._sources().items():
      with self.subTest(name):
        self.assertEmpty(problems(source))

  def test_exceptions_are_needed(self):
    nodes = {ast.unparse(node) for source in self._sources().values()
             for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Attribute)}
    self.assertEmpty({*_SET, *_INTERNALS} - nodes)

  @parameterized.parameters(
      "model._compile_loss", "keras.Model.train_step = f",
      "getattr(x, '_keras_mask')", "from keras" + ".src import backend",
      "import tensor" + "flow.python", "setattr(model, 'a', 1)",
      "from adanet.core import events", "tf.Variable.assign = None",
      "random.random = f", "vars(random).update(f=1)", "del model.call",
      "layer.call = f", "seeds.seed_scope", "keras_internals.loaded()")
  def test_what_is_wrong(self, source):
    self.assertLen(problems(source), 1, source)

  def test_what_is_right(self):
    self.assertEmpty(problems("self._a = key._replace(a=1)\nmodel.name = 'a'"))


if __name__ == "__main__":
  absltest.main()
