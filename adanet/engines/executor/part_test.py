# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of when a worker trains a part, and of the search that it gets."""

import os
from typing import Any, NamedTuple
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.core import iteration
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.core import user_input
from adanet.engines.executor import part
from adanet.engines.executor import part_files
from adanet.testing import parts
from adanet.training import setup as setup_lib
from adanet.training import trainer
import cloudpickle

_End = part.PartEnd


class _Raises:
  """Raises an error where a worker unpacks it."""

  def __init__(self, error):
    self._error = error

  def __reduce__(self):
    return _raise, (self._error,)


def _raise(error):
  raise error


class _ModelOfConfig(NamedTuple):
  """What a worker needs of a `SearchSetup` until it trains."""
  config: Any
  part: Any = None
  model_dir: Any = mock.Mock()


class PartTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._files = part_files.PartFiles(self._model_dir, 0)
    self._worker = part_files.worker_name()

  def _train(self, error=KeyError("trained"), **values):
    """Trains a part, of which an error is raised when it would begin."""
    driver = self._files.begin(None, cloudpickle.dumps(_Raises(error)), {})
    return part.train(
        parts.request(self._model_dir, driver)._replace(**values))

  def test_error(self):
    outcome = self._train()
    self.assertEqual(
        part.PartOutcome(_End.FAILED, "KeyError: 'trained'", outcome.details,
                         self._worker), outcome)
    self.assertStartsWith(outcome.details, "Traceback")

  @parameterized.parameters(
      (user_input.EmptyInputError("train: no"), _End.INPUT_EMPTY, "train: no"),
      (selection.AllNaNError("it is NaN"), _End.ALL_NAN, "it is NaN"),
      (KeyboardInterrupt(), _End.STOPPED, ""), (SystemExit(), _End.STOPPED, ""))
  def test_error_that_has_a_meaning(self, error, end, message):
    self.assertEqual(part.PartOutcome(end, message, worker=self._worker),
                     self._train(error))

  @parameterized.parameters(
      (False, True), (True, True), (True, False))  # Only there is a fork.
  def test_fork(self, is_fork, is_driver):
    with mock.patch.object(part.forks, "is_fork", lambda: is_fork):
      outcome = self._train(**({} if is_driver else {
          "driver_process": "host-1"}))
    self.assertEqual(is_fork and not is_driver, outcome.end == _End.FORKED)

  @parameterized.parameters((6, 2, 3), (2, 5, 1), (None, 3, 1))
  def test_share_of_the_cpus(self, num_cpus, num_parts, threads):
    """A part has the default session config but for its threads."""
    of_part = tf_compat.default_session_config()
    of_part.intra_op_parallelism_threads = threads
    of_part.inter_op_parallelism_threads = threads
    of_user = tf_compat.v1.ConfigProto(log_device_placement=True)
    for session_config, expected in ((None, of_part), (of_user, of_user)):
      model = _ModelOfConfig(tf_compat.RunConfig(session_config=session_config))
      with mock.patch.object(os, "cpu_count", return_value=num_cpus), (
          mock.patch.object(part, "unpickle_search", return_value=(
              model, trainer.Request(None)))), mock.patch.object(
                  part.local, "train_here", return_value=None) as train_here:
        self._train(num_parts=num_parts)
      self.assertEqual(expected, train_here.call_args[0][0].config.session_config)

  def test_part_that_is_done(self):
    driver = self._files.begin(None, b"not read", {})
    self._files.write_result(("a",), parts.result(driver))
    self.assertEqual(
        part.PartOutcome(_End.DONE, worker=self._worker),
        part.train(parts.request(self._model_dir, driver)))

  @parameterized.parameters(True, False)
  def test_result_of_a_worker_that_is_late(self, is_wanted):
    """Another driver may have removed what began from another checkpoint."""
    def evaluate(*unused_args):
      if not is_wanted:
        self._files.begin("model.ckpt-4", b"another search", {})
      return parts.result(driver)

    model = mock.Mock(config=mock.Mock(session_config=None))
    driver = self._files.begin(None, b"search", {})
    with mock.patch.object(part, "_unpacked", return_value=(
        model, trainer.Request(None))), mock.patch.object(
            part.local, "train_here"), mock.patch.object(
                part, "_result", side_effect=evaluate):
      self.assertEqual(_End.DONE, part.train(
          parts.request(self._model_dir, driver)).end)
    self.assertEqual(
        is_wanted, self._files.result(("a",), driver, None) is not None)

  def test_part_that_another_driver_asked_for(self):
    self._files.begin(None, b"not read", {})
    self.assertEqual(part.PartOutcome(_End.STOPPED, worker=self._worker),
                     part.train(parts.request(self._model_dir, "lost")))

  def test_worker_that_sees_another_disk(self):
    elsewhere = self.create_tempdir().full_path
    with mock.patch.object(part, "SEEN_SECS", .1):
      outcome = self._train(model_dir=elsewhere)
    self.assertIn("a folder that all workers of the executor see",
                  outcome.error)


class PickledSearchTest(parameterized.TestCase):

  def test_loads(self):
    search = iteration.Search(
        head=None, generator=["a"], ensemblers=(), strategies=(), metric_fn=len,
        max_iteration_steps=4, adanet_loss_decay=.9,
        replicate_ensemble_in_training=False, debug=False,
        enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
        global_step_combiner_fn=sum, exports=None)
    setup, request = part.unpickle_search(part.pickle_search(
        setup_lib.SearchSetup(
            search, model_dir_lib.ModelDir("/b"), None,
            distributed.ReplicationStrategy(), setup_lib.Rules(patience=3)),
        trainer.Request(dict, hooks=("hook",), saving_listeners=("here",),
                        max_steps=7)))
    self.assertEqual(
        ("/b", 3, len, 4), (setup.model_dir.path, setup.rules.patience,
                            setup.search.metric_fn,
                            setup.search.max_iteration_steps))
    self.assertEqual(
        trainer.Request(dict, hooks=("hook",), max_steps=7), request)


if __name__ == "__main__":
  absltest.main()
