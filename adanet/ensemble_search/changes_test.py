# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A directory after functions, arguments or files have changed.

What has ended is never trained again, and never lost.
"""

import math
import os
import pathlib
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import level
import numpy as np
import optuna

keras = tf_compat.keras_3
L, O = keras.layers, keras.optimizers
_RANDOM = np.random.RandomState(0)
_X = _RANDOM.randn(60, 4).astype("float32")
_Y = (_X[:, :1] - _X[:, 1:2]).astype("float32")
_WITH_DOCSTRING = '''
def deep():
  """Makes the same."""
  hidden = keras.layers.Dense(4, "tanh")  # A comment.
  last = keras.layers.Dense(1)
  return keras.Sequential([hidden, last])
'''
_WITH_CLASS = '''
class Double(keras.layers.Layer):

  def call(self, inputs):
    return 2 * inputs


def deep():
  return keras.Sequential([
      keras.layers.Dense(4), Double(), keras.layers.Dense(1)])
'''


def _make(*layers, **compiled):
  """Returns a function of a Sequential of layers that `layers` return."""
  def make():
    model = keras.Sequential([make_layer() for make_layer in layers])
    if compiled:
      model.compile(compiled.get("make_optimizer", lambda: "adam")(),
                    compiled.get("loss", "mse"))
    return model
  return make


def _dense(units, *arguments, **options):
  return lambda: L.Dense(units, *arguments, **options)


def _deep(units=4, activation="tanh", **compiled):
  return _make(_dense(units, activation), _dense(1), **compiled)


def _functional(names=(None, None), last=1):
  """Returns a function of a functional model."""
  def make():
    inputs = keras.Input([4])
    hidden = L.Dense(4, "tanh", name=names[0])(inputs)
    return keras.Model(inputs, L.Dense(last, name=names[1])(hidden))
  return make


def _with_policy(name, function):
  def make():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
      return function()
    finally:
      keras.config.set_dtype_policy(before)
  return make


# Infinity in the first step makes NaN.
_FAILS = _deep(make_optimizer=lambda: O.SGD(1e38))


def _space(make_optimizer=lambda number: "adam", units=4):
  """Returns a function of a trial, whose first trial may be another."""
  def dense(trial):
    trial.suggest_int("width", 2, 6)
    optimizer = make_optimizer(trial.number)
    return _deep(units + trial.number, make_optimizer=lambda: optimizer)()
  return dense


def _fails_first(number):
  return O.SGD(1e38) if number == 0 else "adam"


def _prunes_first(number):
  if number == 0:
    raise optuna.TrialPruned
  return "adam"


def _run(text, module):
  """Returns the function `deep` of a file that is run or imported."""
  names = {"keras": keras, "__name__": module}
  exec(text, names)  # pylint: disable=exec-used
  return names["deep"]


@keras.saving.register_keras_serializable("tests")
def mean(outputs, weights):
  return keras.ops.sum(keras.ops.reshape(weights, [-1, 1, 1]) * outputs, 0)


def _search(directory, models, loss="mse", **options):
  return ensemble_search.EnsembleSearch(
      models, loss, directory=directory, **{"seed": 3, **options})


def _fit(search, **options):
  return search.fit(options.pop("x", _X), options.pop("y", _Y), verbose=0,
                    **{"epochs": 2, **options})


def _stamps(directory):
  """Returns when the weights of each network were written."""
  return {path.parent.name: path.stat().st_mtime_ns for path in
          pathlib.Path(directory).glob("networks/*/best.weights.h5")}


def _rows(search):
  """Returns the leaderboard by name, without times."""
  return {row["name"]: {column: value for column, value in row.items()
                        if "seconds" not in column}
          for row in search.history.rows()}


def _names(search):
  return [member.name for member in search.members]


class _OfDirectories(parameterized.TestCase):
  """Trains each search once, and copies its directory for each case."""

  def directory(self, kind):
    """Returns a new copy of the directory of a search."""
    trained = os.path.join(_FOLDER.name, kind)
    if not os.path.exists(trained):
      models, options, fit = _KINDS[kind]
      _fit(_search(trained, models, **options), **fit)
    copy = os.path.join(self.create_tempdir().full_path, "search")
    shutil.copytree(trained, copy)
    return copy

  def warnings_of(self, function):
    """Returns the result of a function, and all warnings in a text."""
    with mock.patch.object(log, "warning") as warning:
      result = function()
    return result, "\n".join(
        call.args[0] % call.args[1:] for call in warning.call_args_list)

  def change(self, kind, models, is_same_object, **fit):
    """Continues a search with other functions.

    Args:
      kind: str, of the search.
      models: dict with the functions that have changed.
      is_same_object: bool, whether the search has been called before, and its
        functions have changed since, as in a notebook. Otherwise as in the next
        program.
      **fit: of `fit`.

    Returns:
      The directory, and a function that calls `fit`.
    """
    path, before = self.directory(kind), dict(_KINDS[kind][0])
    if not is_same_object:
      search = _search(path, {**before, **models})
      return path, lambda: _fit(search, **fit)
    now = dict(before)

    def current(name):
      # A trial is a required argument.
      if name == "dense":
        return lambda trial: now["dense"](trial)
      return lambda: now[name]()

    search = _fit(_search(path, {name: current(name) for name in before}),
                  **_KINDS[kind][2])
    now.update(models)
    return path, lambda: _fit(search, **fit)


_FOLDER = tempfile.TemporaryDirectory()
# The functions, and the arguments of EnsembleSearch and fit.
_KINDS = {
    "plain": ({"small": _make(_dense(1)), "deep": _deep()}, {}, {}),
    "functional": ({"small": _make(_dense(1)), "deep": _functional()}, {}, {}),
    "compiled": ({"deep": _deep(make_optimizer=lambda: "adam")}, {}, {}),
    "class": ({"deep": _run(_WITH_CLASS, "__main__")}, {}, {}),
    "failed": ({"small": _make(_dense(1)), "deep": _FAILS}, {}, {}),
    "failed_trial": ({"dense": _space(_fails_first)}, {}, {"trials": 2}),
    "trials": ({"dense": _space()}, {}, {"trials": 2}),
    "whole": ({"small": _make(_dense(1)), "dense": _space()},
              {"combine": mean}, {"trials": 1}),
}
_PROGRAMS = [{"testcase_name": "_next_program", "is_same_object": False},
             {"testcase_name": "_one_program", "is_same_object": True}]


class FunctionsTest(_OfDirectories):

  def test_function_is_left_out_and_back(self):
    path = self.directory("plain")
    models = _KINDS["plain"][0]
    before, stamps = _rows(_search(path, models)), _stamps(path)
    search, text = self.warnings_of(lambda: _fit(_search(
        path, {"small": models["small"]})))
    self.assertIn("deep", text)
    self.assertIn("models", text)
    self.assertNotIn("\n", text)
    rows = _rows(search)
    self.assertEqual("not in models", rows["deep"]["ended"])
    self.assertEqual(before["deep"]["val_loss"], rows["deep"]["val_loss"])
    self.assertEqual(before["small"]["val_loss"], rows["ensemble"]["val_loss"])
    self.assertEqual(["small"], _names(search))
    self.assertEqual(before, _rows(_fit(_search(path, models))))
    self.assertEqual(stamps, _stamps(path))

  @parameterized.named_parameters(level.first(_PROGRAMS))
  def test_failed_function_is_repaired(self, is_same_object):
    _, call = self.change("failed", {"deep": _deep(
        6, "relu", make_optimizer=lambda: O.SGD(.01))}, is_same_object)
    search, text = self.warnings_of(call)
    self.assertEqual("", text)
    rows = _rows(search)
    self.assertEqual("all epochs", rows["deep"]["ended"])
    self.assertTrue(math.isfinite(rows["deep"]["val_loss"]))

  def test_failed_function_is_left_out(self):
    path = self.directory("failed")
    search = _fit(_search(path, {"small": _KINDS["failed"][0]["small"]}))
    self.assertEqual(["small"], _names(search))

  @level.gate
  def test_function_failed_and_fails_again(self):
    path = self.directory("failed")
    rows = _rows(_fit(_search(path, _KINDS["failed"][0])))
    self.assertStartsWith(rows["deep"]["ended"], "failed: NaN in ")
    self.assertEqual("deep", list(rows)[-1])

  @parameterized.named_parameters(level.first(_PROGRAMS))
  def test_failed_trial_is_repaired(self, is_same_object):
    path, call = self.change("failed_trial", {"dense": _space(
        lambda number: O.SGD(.01) if number == 0 else "adam")},
                             is_same_object, trials=2)
    stamps = _stamps(path)
    rows = _rows(call())
    self.assertTrue(math.isfinite(rows["dense #1"]["val_loss"]))
    self.assertEqual({**_stamps(path), **stamps}, _stamps(path))

  @parameterized.named_parameters(level.first(_PROGRAMS))
  def test_failed_trial_is_pruned(self, is_same_object):
    path, call = self.change(
        "failed_trial", {"dense": _space(_prunes_first)}, is_same_object,
        trials=2)
    stamps = _stamps(path)
    search = call()
    self.assertEqual(stamps, _stamps(path))
    self.assertEqual(["PRUNED", "COMPLETE"], [
        trial.state.name for trial in search.study("dense").trials])

  @parameterized.named_parameters(
      {**program, "testcase_name": f"{name}{program['testcase_name']}",
       "kind": kind, "function": function}
      for program in level.first(_PROGRAMS)
      for name, kind, function in level.first([
          ("names", "functional", _functional(("hidden", "last"))),
          ("input", "plain", _make(
              lambda: keras.Input([4]), _dense(4, "tanh"), _dense(1))),
          ("docstring", "plain", _run(_WITH_DOCSTRING, "other")),
          ("compiled_by_objects", "compiled", _deep(
              make_optimizer=lambda: O.Adam(1e-3),
              loss=keras.losses.MeanSquaredError())),
          ("import", "class", _run(_WITH_CLASS, "models_of_user")),
          ("sequential", "functional", _deep()),
      ], 2))
  def test_same_network(self, kind, function, is_same_object):
    path, call = self.change(kind, {"deep": function}, is_same_object)
    before = _rows(_search(path, _KINDS[kind][0]))
    stamps = _stamps(path)
    search, text = self.warnings_of(call)
    self.assertEqual("", text)
    self.assertEqual(before, _rows(search))
    self.assertEqual(stamps, _stamps(path))
    self.assertEqual((60, 1), search.model.predict(_X, verbose=0).shape)

  def test_order_of_functions(self):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    before, stamps = _rows(_search(path, models)), _stamps(path)
    search, text = self.warnings_of(lambda: _fit(_search(
        path, dict(reversed(models.items())))))
    self.assertEqual("", text)
    self.assertEqual(before, _rows(search))
    self.assertEqual(stamps, _stamps(path))

  @parameterized.named_parameters(
      {**program, "testcase_name": f"{name}{program['testcase_name']}",
       "kind": kind, "function": function, "words": words}
      for program in level.first(_PROGRAMS)
      for name, kind, function, words in level.first([
          ("units", "plain", _deep(8),
           ["layer 1 (Dense)", "units 4 before, 8 now"]),
          ("policy", "plain", _with_policy("mixed_float16", _deep()),
           ["dtype policy float32 before, mixed_float16 now"]),
          ("optimizer", "compiled", _deep(make_optimizer=lambda: O.Adam(.01)),
           ["learning_rate 0.001 before, 0.01 now"]),
          ("loss", "compiled", _deep(
              make_optimizer=lambda: "adam", loss="mae"),
           ["MeanSquaredError before, MeanAbsoluteError now"]),
          ("activation", "plain", _deep(4, "relu"),
           ["layer 1 (Dense)", "activation tanh before, relu now"]),
          ("kind", "plain", _make(lambda: L.Dropout(.1), _dense(1)),
           ["layer 1 is Dense before, Dropout now"]),
          ("layers", "plain", _make(_dense(1)), ["2 layers before, 1 now"]),
      ], 2))
  def test_another_network(self, kind, function, words, is_same_object):
    path, call = self.change(kind, {"deep": function}, is_same_object)
    stamps = _stamps(path)
    with self.assertRaises(ValueError) as raised:
      call()
    message = str(raised.exception)
    for text in [*words, "deep", '"deep_2"', "original function"]:
      self.assertIn(text, message)
    self.assertNotIn("\n", message)
    self.assertEqual(1, message.count(" before, "), message)
    self.assertEqual(stamps, _stamps(path))

  @level.gate
  def test_another_trial(self):
    path, call = self.change(
        "trials", {"dense": _space(units=9)}, False, trials=2)
    stamps = _stamps(path)
    with self.assertRaisesRegex(ValueError, "units . before, .* now.*dense_2"):
      call()
    self.assertEqual(stamps, _stamps(path))

  def test_function_takes_a_trial_now(self):
    path = self.directory("plain")
    stamps = _stamps(path)
    with self.assertRaisesRegex(ValueError, "takes a trial now.*deep_2"):
      _fit(_search(path, {**_KINDS["plain"][0], "deep": _space()}), trials=1)
    self.assertEqual(stamps, _stamps(path))

  def test_changed_function_has_another_name(self):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    stamps = _stamps(path)
    search, text = self.warnings_of(lambda: _fit(_search(
        path, {"small": models["small"], "deep_2": _deep(8)})))
    self.assertIn("deep", text)
    self.assertEqual("all epochs", _rows(search)["deep_2"]["ended"])
    self.assertEqual("not in models", _rows(search)["deep"]["ended"])
    self.assertEqual(stamps, {
        name: time for name, time in _stamps(path).items() if name in stamps})
    # Beside the original function.
    search, text = self.warnings_of(lambda: _fit(_search(
        path, {**models, "deep_2": _deep(8)})))
    self.assertEqual("", text)
    self.assertEqual({"ensemble", "small", "deep", "deep_2"},
                     set(_rows(search)))


class ArgumentsTest(_OfDirectories):

  @parameterized.named_parameters(
      ("metrics", {"metrics": ["mae"]}, {}),
      ("max_members", {}, {"max_members": 1}),
      ("combine", {"combine": mean}, {}),
  )
  def test_computed_anew(self, options, fit):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    before, stamps = _rows(_search(path, models)), _stamps(path)
    search = _fit(_search(path, models, **options), **fit)
    rows = _rows(search)
    self.assertEqual(stamps, _stamps(path))
    for name in ("small", "deep"):
      self.assertEqual(before[name]["val_loss"], rows[name]["val_loss"])
      if "metrics" in options:
        self.assertTrue(math.isfinite(rows[name]["val_mae"]))
    if "max_members" in fit:
      self.assertLen(search.members, 1)

  @parameterized.named_parameters(
      ("loss", {"loss": "mae"}, {}, "loss"),
      ("monitor", {"monitor": "val_mae", "mode": "min", "metrics": ["mae"]}, {},
       "monitor"),
      ("validation_split", {}, {"validation_split": .3},
       "validation_split"),
      ("folds", {}, {"folds": 2}, "folds"),
      ("x", {}, {"x": _X + 1}, "x"),
      ("y", {}, {"y": _Y + 1}, "y"),
      ("weights", {}, {"sample_weight": np.arange(60.)}, "sample_weight"),
      ("batch_size", {}, {"batch_size": 16}, "batch_size"),
      ("optimizer", {"optimizer": "sgd"}, {}, "optimizer"),
  )
  def test_another_search(self, options, fit, name):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    stamps = _stamps(path)
    with self.assertRaisesRegex(ValueError, fr"\b{name}\b.*another directory"):
      _fit(_search(path, models, **options), **fit)
    self.assertEqual(stamps, _stamps(path))

  def test_another_search_loses_nothing(self):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    before, stamps = _rows(_search(path, models)), _stamps(path)
    with self.assertRaises(ValueError):
      _fit(_search(path, models, loss="mae"))
    self.assertEqual(before, _rows(_fit(_search(path, models))))
    self.assertEqual(stamps, _stamps(path))


class OtherObjectsTest(_OfDirectories):

  def test_directory_that_another_object_lets_grow(self):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    search = _search(path, {"small": models["small"]})
    before = _rows(search)
    other = _fit(_search(path, {
        **models, "wide": _make(_dense(20, "relu"), _dense(1))}))
    self.assertEqual(set(before) | {"wide"}, set(_rows(search)))
    self.assertEqual((60, 1), search.network("small").predict(
        _X, verbose=0).shape)
    with self.assertRaisesRegex(ValueError, "wide.*models"):
      search.network("wide")
    names = set(_names(other)) - {"small"}
    if names:
      with self.assertRaisesRegex(ValueError, "|".join(names)):
        _ = search.model

  def test_members_need_their_functions_alone(self):
    path, models = self.directory("plain"), _KINDS["plain"][0]
    _fit(_search(path, models), max_members=1)
    member, = _search(path, models).members
    search = ensemble_search.EnsembleSearch(
        {member.name: models[member.name]}, directory=path)
    self.assertEqual([member.name], _names(search))
    self.assertEqual((60, 1), search.model.predict(_X, verbose=0).shape)
    missing, = set(models) - {member.name}
    with self.assertRaisesRegex(ValueError, f"{missing}.*models"):
      search.network(missing)


def _empty(path):
  path.write_bytes(b"")


def _cut(path):
  path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])


def _flip(path):
  """Flips a byte, which is no longer of UTF-8."""
  content = bytearray(path.read_bytes())
  content[len(content) // 2] ^= 0xff
  path.write_bytes(content)


_DAMAGES = {"cut": _cut, "empty": _empty, "flipped": _flip,
            "removed": pathlib.Path.unlink}
# Patterns of files, and whether their network trains anew.
_FILES = {
    "candidate": ("candidates/0-small.json", False),
    "trial": ("candidates/*dense*.json", False),
    "ensemble": ("ensemble.json", False),
    "weights": ("networks/*small/best.weights.h5", True),
    "sample": ("sample.npz", False),
    "network": ("networks/*small/network.json", True),
    "predictions": ("networks/*small/held_out.npz", True),
    "labels": ("labels.npz", False),
    "rows": ("rows.npz", False),
    "outputs": ("*-outputs.npz", False),
}


class DamagedFilesTest(_OfDirectories):

  def damage(self, directory, pattern, damage):
    path, = pathlib.Path(directory).glob(pattern)
    _DAMAGES[damage](path)
    return path

  def whole(self):
    path = self.directory("whole")
    models, options, fit = _KINDS["whole"]
    return path, lambda **other: _fit(
        _search(path, models, **options), **{**fit, **other})

  @parameterized.named_parameters(
      (f"{name}_{damage}", pattern, trains, damage)
      for name, (pattern, trains) in level.first(list(_FILES.items()), 4)
      for damage in level.first(list(_DAMAGES)))
  def test_file_is_made_again(self, pattern, trains, damage):
    path, call = self.whole()
    models, options, _ = _KINDS["whole"]
    before = _rows(_search(path, models, **options))
    stamps = _stamps(path)
    file = self.damage(path, pattern, damage)
    search, text = self.warnings_of(call)
    # HDF5 has no checksums.
    if damage != "flipped" or file.suffix != ".h5":
      changed = {name for name, time in _stamps(path).items()
                 if time != stamps[name]}
      self.assertEqual({"0-0-small"} if trains else set(), changed)
    self.assertEqual(before, _rows(search))
    search = _search(path, models, **options)  # Reads all from files.
    self.assertEqual((60, 1), search.model.predict(_X, verbose=0).shape)
    if file.suffix == ".npz" and file.exists():
      np.load(file).close()
    if damage in ("cut", "empty"):  # A missing file may be a new one.
      self.assertIn(file.name, text)
    if level.number(True, False):
      return
    # And once is enough.
    search, text = self.warnings_of(call)
    self.assertEqual("", text)
    self.assertEqual(before, _rows(search))

  @parameterized.parameters(
      "ensemble.json", "candidates/0-small.json", "networks/*small/network.json")
  def test_another_digit(self, pattern):
    """JSON with another number is JSON: the checksum tells it."""
    path, call = self.whole()
    models, options, _ = _KINDS["whole"]
    before = _rows(_search(path, models, **options))
    file, = pathlib.Path(path).glob(pattern)
    text = file.read_text()
    place = text.index('"val_loss": ') + len('"val_loss": 0.')
    file.write_text(
        text[:place] + ("2" if text[place] == "1" else "1") + text[place + 1:])
    search, lines = self.warnings_of(call)
    self.assertIn(file.name, lines)
    self.assertEqual(before, _rows(search))

  def test_search_is_written_anew(self):
    """As the line about a damaged one says."""
    path, call = self.whole()
    models, options, _ = _KINDS["whole"]
    before, stamps = _rows(_search(path, models, **options)), _stamps(path)
    os.remove(os.path.join(path, "search.json"))
    self.assertEqual(before, _rows(call()))
    self.assertEqual(stamps, _stamps(path))

  @parameterized.named_parameters(
      (damage, damage) for damage in _DAMAGES if damage != "removed")
  def test_search_is_an_error(self, damage):
    path, call = self.whole()
    stamps = _stamps(path)
    self.damage(path, "search.json", damage)
    with self.assertRaisesRegex(ValueError, "search.json"):
      call()
    self.assertEqual(stamps, _stamps(path))

  @parameterized.named_parameters(
      (damage, damage) for damage in level.first(list(_DAMAGES)))
  def test_study_is_made_again(self, damage):
    path, call = self.whole()
    file = self.damage(path, "studies/*.pickle", damage)
    search, text = self.warnings_of(call)  # Proposes nothing.
    self.assertEqual("", text)
    search, text = self.warnings_of(lambda: call(iterations=2))
    if damage in ("cut", "empty"):
      self.assertIn(file.name, text)
    self.assertLen(search.study("dense").trials, 2)

  @parameterized.named_parameters(level.first([
      ("ensemble", "ensemble.json"), ("candidate", "candidates/0-small.json"),
      ("sample", "sample.npz"), ("outputs", "*-outputs.npz")], 2))
  def test_shown_without_data(self, pattern):
    """Another program has no data, and the line says what works."""
    path, call = self.whole()
    models, options, _ = _KINDS["whole"]
    before = _rows(_search(path, models, **options))
    file = self.damage(path, pattern, "cut")
    search = _search(path, models, **options)
    rows = _rows(search)
    for name in {"small", "dense #1"} & set(rows):
      self.assertEqual(before[name]["val_loss"], rows[name]["val_loss"])
    try:
      self.assertEqual((60, 1), search.model.predict(_X, verbose=0).shape)
    except (OSError, ValueError) as error:
      self.assertRegex(str(error), f"({file.name}|candidates).*fit")
      self.assertNotIn("\n", str(error))
    self.assertEqual(before, _rows(call()))  # The advice works.


if __name__ == "__main__":
  absltest.main()
