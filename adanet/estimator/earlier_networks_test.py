# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches whose builders do not ask for the previous ensemble.

Their ensembles are fitted, so no network of an earlier iteration is built, and
none runs again. All figures are those of a search that builds them.
"""

import functools
import glob
import json
import logging
import os
import shutil
import tempfile
import types

from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches
import numpy as np

_NAMES = ("a", "b")


def _held_out(scale=1.):
  """Returns an input_fn of the evaluator."""
  def input_fn():
    features, labels = builders.data()
    return tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features * np.float32(scale)}, labels)).batch(7)
  return input_fn


class _Most(adanet.ensemble.FittedEnsembler):
  """Leaves out the second network."""

  name = "most"

  def fit(self, members, loss):
    weights = [1. / (2 + i) for i in range(len(members))]
    weights[1:2] = [0.] * len(members[1:2])
    return weights


class _Noted(builders.Alone):
  """Notes the batches that the network runs on."""

  def __init__(self, name, width, runs):
    super().__init__(name, width)
    self._runs = runs

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary):
    def note(value):
      self._runs.append((self.name, training))
      return value

    noted = tf_compat.v1.numpy_function(
        note, [features["x"]], tf_compat.v1.float32)
    noted.set_shape(features["x"].shape)
    return super().build_subnetwork(
        {"x": noted}, logits_dimension, training, iteration_step, summary)


class _Remembering(adanet.subnetwork.Generator):
  """Makes the same builders in each iteration, and notes the reports.

  Attributes:
    seen: dict from iteration to the names and metrics of all reports before.
  """

  def __init__(self, made):
    self._made = made
    self.seen = {}

  def generate_candidates(self, iteration_number, previous_ensemble_reports,
                          all_reports):
    self.seen[iteration_number] = [
        (one.name, one.metrics) for one in all_reports]
    return self._made


class _Doubled(builders.Alone):
  """A network that gives twice its logits."""

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary):
    made = super().build_subnetwork(
        features, logits_dimension, training, iteration_step, summary)
    return made._replace(logits=made.logits * 2.)


def _made(kind=builders.Alone):
  return [kind(name, 1 + i) for i, name in enumerate(_NAMES)]


def _estimator(model_dir, made=None, **arguments):
  """Returns a search of three iterations, the winners of which grow."""
  made = made or _made()
  arguments = {
      "evaluator": adanet.Evaluator(_held_out()),
      "ensemblers": [_Most()],
      "subnetwork_generator": adanet.subnetwork.SimpleGenerator(made),
      "max_iterations": 3, "force_grow": True,
      "enable_ensemble_summaries": False, "enable_subnetwork_summaries": False,
      **arguments}
  return searches.estimator(model_dir, *made, **arguments)


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


@functools.lru_cache(maxsize=None)
def _searches(kind):
  """Returns a search of builders of a class, and one that is not complete.

  They have all checkpoints. Nothing may change them.

  Returns:
    An estimator that has trained, the model_dir after two iterations, and the
    reports that the third one has seen.
  """
  model_dir, two = _folder(), os.path.join(_folder(), "two")
  for iterations in (2, 3):
    generator = _Remembering(_made(kind))
    estimator = _estimator(
        model_dir, subnetwork_generator=generator, max_iterations=iterations,
        config=tf_compat.RunConfig(keep_checkpoint_max=None),
        report_materializer=adanet.ReportMaterializer(_held_out()))
    estimator.train(builders.input_fn())
    if iterations == 2:
      shutil.copytree(model_dir, two)
  return estimator, two, generator.seen[2]


def _expected():
  """Returns a trained search of builders that ask."""
  return _searches(builders.Dense)[0]


def _predictions(estimator):
  return np.array([one["predictions"] for one in estimator.predict(
      builders.input_fn(1))])


def _exported(estimator, folder):
  def receiver():
    given = {"x": tf_compat.v1.placeholder(tf_compat.v1.float32, [None, 3])}
    return types.SimpleNamespace(features=given, receiver_tensors=given)

  v1 = tf_compat.v1
  path = estimator.export_saved_model(folder, receiver)
  with v1.Graph().as_default(), v1.Session() as session:
    signature = v1.saved_model.load(
        session, ["serve"], path.decode()).signature_def["predict"]
    return session.run(signature.outputs["predictions"].name,
                       {signature.inputs["x"].name: builders.data()[0]})


class _SearchesCase(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = _folder()

  def _after_two_iterations(self, kind=builders.Alone):
    """Returns the model_dir of a search that is not complete."""
    return shutil.copytree(
        _searches(kind)[1], os.path.join(_folder(), "copy"))

  def _trained(self, made=None, model_dir=None, **arguments):
    estimator = _estimator(model_dir or self._model_dir, made, **arguments)
    estimator.train(builders.input_fn())
    return estimator

  def _figures(self, model_dir, iterations):
    """Returns what the iterations of a search decided, and by what."""
    records = [store.Store(model_dir).iteration(t) for t in range(iterations)]
    return [(record.winner, record.winning.value, record.winning.weights,
             record.winning.subnetworks, record.fit) for record in records]

  def _assert_same(self, expected, found, iterations=3):
    """Asserts that two searches have decided and saved the same."""
    self.assertEqual(self._figures(expected.model_dir, iterations),
                     self._figures(found.model_dir, iterations))
    np.testing.assert_array_equal(_predictions(expected), _predictions(found))
    for name in expected.get_variable_names():
      np.testing.assert_array_equal(
          expected.get_variable_value(name), found.get_variable_value(name),
          name)


class EarlierNetworksTest(_SearchesCase):

  def test_same_as_with_them(self):
    with_them, without = _expected(), _searches(builders.Alone)[0]
    self._assert_same(with_them, without)
    self.assertEqual(with_them.evaluate(_held_out()),
                     without.evaluate(_held_out()))
    np.testing.assert_array_equal(
        _exported(with_them, _folder()),
        _exported(without, _folder()))
    more = set(without.get_variable_names()) - set(
        with_them.get_variable_names())
    # No slot of an optimizer of an earlier iteration is kept.
    self.assertEmpty([name for name in more if "candidate_" not in name])

  def test_same_with_other_winners(self):
    arguments = {
        "ensemblers": [adanet.ensemble.GreedyEnsembler()], "force_grow": False,
        "max_iterations": 2}
    self._assert_same(
        self._trained(_made(builders.Dense), _folder(), **arguments),
        self._trained(_made(), **arguments), iterations=2)

  def test_what_is_built_and_run(self):
    runs = []
    made = [_Noted(name, 1 + i, runs) for i, name in enumerate(_NAMES)]
    calls = [one.calls for one in made]
    estimator = _estimator(self._model_dir, made)
    for number in range(1, 3):
      for of_one in calls:
        del of_one[:]
      estimator = _estimator(self._model_dir, made, max_iterations=number)
      estimator.train(builders.input_fn())
      # To train, and to record.
      self.assertEqual([["build", "train", "build"]] * len(_NAMES), calls)
    self.assertLen({name for name, _ in runs}, len(_NAMES))
    recorded = [name for name, training in runs if not training]
    # Five batches in each of two iterations.
    self.assertEqual(
        [10] * len(_NAMES), [recorded.count(name) for name in _NAMES])
    members = store.Store(self._model_dir).iteration(1).winning.subnetworks
    for of_one in calls:
      del of_one[:]
    estimator.evaluate(_held_out())
    last = [name for name in members if name.startswith("t1_")]
    self.assertNotEmpty(last)
    self.assertNotEqual(last, list(members))
    self.assertEqual(["build"] * len(members), sum(calls, []))

  def test_one_that_asks_goes_on(self):
    """A search may ask later on: all that it needs is saved."""
    self._assert_same(_expected(), self._trained(
        _made(builders.Dense), self._after_two_iterations()))

  def test_goes_on_from_one_that_asked(self):
    self._assert_same(_expected(), self._trained(
        model_dir=self._after_two_iterations(builders.Dense)))

  def test_resumed(self):
    found = []
    for kind in (builders.Dense, builders.Alone):
      arguments = {"model_dir": self._after_two_iterations(kind),
                   "config": tf_compat.RunConfig(keep_checkpoint_max=1)}
      _estimator(made=_made(kind), **arguments).train(
          builders.input_fn(), max_steps=10)
      # Nothing is decided: it is fitted to what there is.
      middle = _estimator(made=_made(kind), **arguments).evaluate(_held_out())
      found.append((middle, self._trained(_made(kind), **arguments)))
    (expected, with_them), (middle, without) = found
    self.assertEqual(expected, middle)
    self._assert_same(with_them, without)

  def test_older_checkpoint(self):
    for name in ("increment.ckpt-1", "model.ckpt-8.1"):
      values = [one.evaluate(_held_out(), checkpoint_path=os.path.join(
          one.model_dir, name))["loss"]
                for one in (_expected(), _searches(builders.Alone)[0])]
      self.assertEqual(values[0], values[1], name)

  def test_on_an_executor(self):
    estimator = _estimator(self._after_two_iterations())
    estimator.train(builders.input_fn(), executor=engines.Here())
    self._assert_same(_expected(), estimator)

  def test_says_that_a_member_has_changed(self):
    """Its variables fit, so nothing else would show it."""
    model_dir = self._after_two_iterations()

    def lines(made):
      with self.assertLogs(level="WARNING") as logged:
        logging.warning("begun")
        _predictions(_estimator(model_dir, made))
      return [line for line in logged.output if "Another search" in line]

    self.assertEmpty(lines(_made()))
    line, = lines(_made(_Doubled))
    self.assertIn("graph of t0_a", line)
    self.assertIn("1 Mul, 1 constant 2.0 now", line)

  def test_reports_have_the_previous_ensemble(self):
    found = _searches(builders.Alone)[2]
    self.assertEqual(_searches(builders.Dense)[2], found)
    self.assertIn("previous_ensemble", [name for name, _ in found])


class LibraryTest(_SearchesCase):
  """Logits that were recorded are not recorded again, if they are the same."""

  def _lines(self, train):
    with self.assertLogs(level="INFO") as lines:
      logging.info("begun")
      train()
    return [line for line in lines.output if "gives other data" in line]

  def test_other_data(self):
    """It is the features that differ; the labels do not."""
    model_dir = self._after_two_iterations()
    evaluator = adanet.Evaluator(_held_out(.5))
    lines = self._lines(lambda: self._trained(
        model_dir=model_dir, evaluator=evaluator))
    self.assertLen(lines, 1)
    self.assertIn("Iteration 2: evaluator.input_fn", lines[0])
    (_, value, *_), = self._figures(model_dir, 3)[2:]
    self.assertAlmostEqual(value, _estimator(
        model_dir, evaluator=evaluator).evaluate(_held_out(.5))["loss"],
                           places=5)

  def test_without_files(self):
    model_dir = self._after_two_iterations()
    folder = os.path.join(model_dir, "logits")
    for i, name in enumerate(sorted(os.listdir(folder))):
      path = os.path.join(folder, name)
      if i % 2:
        os.truncate(path, os.path.getsize(path) // 2)
      else:
        os.remove(path)
    self._assert_same(_expected(), self._trained(model_dir=model_dir))

  def test_continued_elsewhere(self):
    made = _made()
    model_dir = self._after_two_iterations()
    found = []
    self.assertEmpty(self._lines(
        lambda: found.append(self._trained(made, model_dir))))
    self.assertEqual([["build", "train", "build"]] * len(_NAMES),
                     [one.calls for one in made])
    self._assert_same(_expected(), found[0])

  def test_other_values(self):
    """Logits of networks with other variables are not taken for theirs."""
    model_dir = self._after_two_iterations()
    folder = os.path.join(model_dir, "logits")
    for path in glob.glob(os.path.join(folder, "*.npy")):
      np.save(path, np.zeros_like(np.load(path)))
    path = os.path.join(folder, "library.json")
    with open(path, encoding="utf-8") as f:
      library = json.load(f)
    for member in library["members"]:
      member["sums"] = {name: 1 for name in member["sums"]}
    with open(path, "w", encoding="utf-8") as f:
      json.dump(library, f)
    self._assert_same(_expected(), self._trained(model_dir=model_dir))

  def test_has_the_last_recording_only(self):
    model_dir = _searches(builders.Alone)[0].model_dir
    files = os.listdir(os.path.join(model_dir, "logits"))
    before = store.Store(model_dir).iteration(1).winning.subnetworks
    self.assertLen(files, len(before) + len(_NAMES) + 1)


if __name__ == "__main__":
  absltest.main()
