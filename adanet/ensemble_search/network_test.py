# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network trains, stops, resumes and ends by its files, without a search."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import data
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import models
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_R = np.random.RandomState(0)
_X = _R.randn(40, 3).astype("float32")
_Y = _X[:, :1] * 2
_ARGUMENTS = models.CompileArguments(loss="mse", optimizer="sgd")


def _make():
  return keras.Sequential([keras.layers.Dense(1)])


def _task(seed, function=_make, **training):
  arguments = {"epochs": 3, "patience": 9, **training}
  return tasks_lib.NetworkTask(
      records.NetworkKey(0, 0, "a"), function,
      tasks_lib.TrainingArguments(_ARGUMENTS, seed, **arguments))


class NetworkTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    (cls.split,), _ = data.split_data(
        _X, _Y, 8, None, .2, None, None, None, 1)

  def _folder(self):
    directory = files.Directory(self.create_tempdir().full_path)
    folder = directory.folder(_task(1).key)
    folder.path.mkdir(parents=True)
    return folder

  def _trained(self, task, folder=None, is_stopped=lambda: False):
    network = network_lib.Network(task, self.split)
    folder = folder or self._folder()
    network.start(folder)
    return network, folder, network.train(is_stopped)

  def test_ends_with_the_best_epoch(self):
    network, folder, record = self._trained(_task(1))
    self.assertEqual(("all epochs", 3, 3, 4), (
        record.ended, len(record.epochs), record.best_epoch, record.parameters))
    self.assertLess(record.epochs[2]["val_loss"], record.epochs[0]["val_loss"])
    self.assertEqual(vars(record), vars(folder.predicted_record()))
    rows = self.split.held_out.numbers
    predictions = folder.predictions()
    np.testing.assert_allclose(
        network.model.predict(_X[rows], verbose=0), predictions.outputs[0],
        rtol=1e-5)
    self.assertAlmostEqual(
        float(np.mean((predictions.outputs[0] - _Y[rows])**2)),
        record.epochs[2]["val_loss"], places=5)
    loaded = _make()
    loaded.build([None, 3])
    folder.load(loaded, "best.weights.h5")
    np.testing.assert_equal(network.model.get_weights(), loaded.get_weights())

  def test_patience(self):
    """The values are those of the best epoch, and the last ones are worse."""
    losses = iter([.5, .3, .4, .6, .1])
    cost = mock.patch.object(
        records.Monitor, "cost", lambda _, logs: logs["loss_of_test"])

    class Losses(keras.callbacks.Callback):

      def on_epoch_end(self, epoch, logs=None):
        logs["loss_of_test"] = next(losses)
        self.model.layers[0].bias.assign([float(epoch)])

    with cost:
      network, _, record = self._trained(_task(
          1, callbacks=lambda: [Losses()], epochs=9, patience=2))
    self.assertEqual(("no better", 4, 2), (
        record.ended, len(record.epochs), record.best_epoch))
    self.assertEqual(1., float(network.model.layers[0].bias.numpy()[0]))

  def test_resumes_as_if_there_had_been_no_stop(self):
    _, _, expected = self._trained(_task(1))
    calls = iter(range(9))
    with mock.patch.multiple(  # A call for each of the 4 steps of an epoch.
        network_lib, _FIRST_STEPS=1, _SECS_OF_A_CALL=0):
      network, folder, record = self._trained(
          _task(1), is_stopped=lambda: next(calls) > 5)
    self.assertIsNone(record)
    self.assertEqual("", network.record.ended)
    self.assertLen(network.record.epochs, 1)
    self.assertEqual(1, network.record.step)
    _, _, record = self._trained(_task(1), folder)
    self.assertEqual(expected.epochs, record.epochs)

  def test_a_lent_model(self):
    """The figures are those of a network that is traced itself."""
    network, _, first = self._trained(_task(1))
    _, _, expected = self._trained(_task(2))
    self.assertNotEqual(first.epochs, expected.epochs)
    with mock.patch.object(
        network_lib.steps_lib, "Steps", side_effect=ValueError):
      self.assertTrue(network.reuse(_task(2), self.split))
      network.start(self._folder())
      self.assertEqual(expected.epochs,
                       network.train(lambda: False).epochs)
    other = _task(2, lambda: keras.Sequential(
        [keras.layers.Dense(1, "relu")]))
    self.assertFalse(network.reuse(other, self.split))

  def test_not_finite(self):
    class Breaks(keras.callbacks.Callback):

      def on_epoch_end(self, epoch, logs=None):
        self.model.layers[0].bias.assign([np.nan])

    with self.assertRaisesRegex(
        failures.NotFiniteError, "^NaN in dense.*/bias after epoch 1$"):
      self._trained(_task(1, callbacks=lambda: [Breaks()]))


if __name__ == "__main__":
  absltest.main()
