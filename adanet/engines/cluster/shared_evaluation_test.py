# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how all workers evaluate the candidates of an iteration.

The workers are in this process, and answer while the chief asks.
"""

import math
import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet import waiting
from adanet.core import evaluator as evaluator_lib
from adanet.core import iteration
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import connection
from adanet.engines.cluster import jobs
from adanet.engines.cluster import shared_evaluation
from adanet.engines.cluster import worker
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
from adanet.tf_compat import files
from adanet.training import candidates as candidates_lib
from adanet.training import setup as setup_lib
from adanet.training import trained
import numpy as np

_GENERATION = 4
_ALL_VALUES = {"before": 9., "a": ord("a"), "b": ord("b"), "c": ord("c")}


_REQUEST = shared_evaluation.EvaluationRequest(
    "1", "job", 3, 0, shared_evaluation.EvaluationKind.VALUES, "model.ckpt-7",
    5, ("a",), {"chief:0": ("a",), "worker:10": ("b", "c")})
_TASK = "worker:10"


class EvaluationRequestsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._chief = shared_evaluation.EvaluationRequests(self._model_dir)
    self._worker = shared_evaluation.EvaluationRequests(self._model_dir)

  def _files(self):
    return [file for _, _, names in os.walk(self._model_dir) for file in names]

  def test_request_and_answer(self):
    self.assertIsNone(self._worker.read())
    self._chief.ask(_REQUEST)
    self.assertEqual(_REQUEST, self._worker.read())
    self.assertIsNone(self._chief.answer(_REQUEST, _TASK))
    begun = shared_evaluation.Answer(is_done=False)
    self._worker.write(_REQUEST, _TASK, begun)
    self.assertEqual(begun, self._chief.answer(_REQUEST, _TASK))
    content = {"b": .1, "c": math.inf}
    self._worker.write(_REQUEST, _TASK, shared_evaluation.Answer(content))
    self.assertEqual(shared_evaluation.Answer(content),
                     self._chief.answer(_REQUEST, _TASK))
    self.assertIsNone(self._chief.answer(_REQUEST, "worker:1"))
    self._chief.clear()
    self.assertIsNone(self._worker.read())
    self.assertIsNone(self._chief.answer(_REQUEST, _TASK))
    self.assertEqual(["evaluation_request.json"], self._files())
    for _ in range(2):
      self._chief.remove()
      self.assertEmpty(self._files())

  def test_nothing_is_written_to_a_request_that_is_gone(self):
    self._chief.ask(_REQUEST)
    for end in (self._chief.clear,
                lambda: self._chief.ask(_REQUEST._replace(id="2"))):
      end()
      count = len(self._files())
      self.assertFalse(self._worker.is_asked(_REQUEST))
      self._worker.write(_REQUEST, _TASK, shared_evaluation.Answer({}))
      self.assertLen(self._files(), count)
      self.assertIsNone(self._chief.answer(_REQUEST, _TASK))

  def test_all_files_are_there_when_it_is_asked(self):
    self._chief.clear()
    before = self._files()
    self._chief.ask(_REQUEST)
    asked = self._files()
    self.assertContainsSubset(before, asked)
    for is_done in False, True:
      self._worker.write(
          _REQUEST, _TASK, shared_evaluation.Answer({}, is_done=is_done))
    self.assertEqual(asked, self._files())

  def test_what_cannot_be_read(self):
    self._chief.ask(_REQUEST)
    folder = os.path.join(self._model_dir, "cluster")
    files.write_text(os.path.join(folder, "answers", "1", "worker-10.json"),
                     '{"content": ')
    self.assertStartsWith(self._chief.answer(_REQUEST, _TASK).error,
                          "its answer cannot be read: not JSON")
    files.write_text(
        os.path.join(folder, "evaluation_request.json"), '{"id": "1"}')
    self.assertIsNone(self._worker.read())


class _Requests(shared_evaluation.EvaluationRequests):
  """Those of a chief whose workers answer at once."""

  def __init__(self, model_dir, workers):
    super().__init__(model_dir)
    self.asked = []
    self.workers = workers

  def ask(self, request):
    self.asked.append(request)
    super().ask(request)
    for answer_if_asked in self.workers:
      answer_if_asked()


class _Test(parameterized.TestCase):
  """What both tests have.

  Attributes:
    path: str, the model_dir.
    now: float, the time.
    silent: list of the tasks that do not answer.
  """

  def setUp(self):
    super().setUp()
    self.path = self.create_tempdir().full_path
    self.now = 1000.
    for module in shared_evaluation, worker:
      self.enter_context(mock.patch.object(
          module, "time", mock.Mock(monotonic=lambda: self.now)))
    self.silent = []

  def _sleep(self, secs):
    self.now += secs

  def connection(self, name):
    """Returns the `Connection` of a task."""
    task_connection = mock.create_autospec(connection.Connection, instance=True)
    task_connection.name = name
    task_connection.worker_names = ["chief:0", "worker:0", "worker:1"]
    task_connection.address = "{}'s address".format
    task_connection.unreachable = lambda names: sorted(
        set(names) & set(self.silent))
    task_connection.job = jobs.JobId("job", True)
    task_connection.config = tf_compat.RunConfig(model_dir=self.path)
    task_connection.wait_until_written = lambda write: write()
    task_connection.wait = lambda advice: waiting.Wait(
        100., advice, clock=lambda: self.now, sleep=self._sleep)
    return task_connection

  def worker(self, setup, name):
    """Returns the `answer_if_asked` of a worker."""
    return worker.EvaluationWorker(
        setup, self.connection(name), _GENERATION).answer_if_asked

  def files(self):
    """Returns what there is of requests and answers."""
    folder = os.path.join(self.path, "cluster")
    with open(os.path.join(folder, "evaluation_request.json")) as f:
      return f.read(), os.path.exists(os.path.join(folder, "answers"))


class SharedEvaluationTest(_Test):
  """Who does what. Nothing is really evaluated."""

  def setUp(self):
    super().setUp()
    self.enter_context(
        mock.patch.object(candidates_lib, "compared", self._evaluated))

  def _evaluated(self, setup, number, checkpoint, watched=None):
    if watched is None:
      return candidates_lib.Comparison(None)  # The chief alone.
    self.assertEqual(1, number)
    self.assertEqual(os.path.join(self.path, "model.ckpt-8"), checkpoint)
    watched(mock.Mock()).run([])
    if setup.search == "fails":
      raise OSError("no such file")
    # What all have is the chief's.
    before = 9. if setup.search is None else 8.
    return candidates_lib.Comparison(
        dict({"before": before}, **{name: ord(name) for name in setup.part}),
        setup.rules.evaluator.metric_name,
        .25 if setup.search == "other data" else .5)

  def _setup(self, seed=None, search=None,
             evaluator=evaluator_lib.Evaluator(len)):
    return setup_lib.SearchSetup(
        search, model_dir_lib.ModelDir(self.path),
        tf_compat.RunConfig(tf_random_seed=seed), None,
        setup_lib.Rules(evaluator))

  def _workers(self):
    return [self.worker(self._setup(search=name), name)
            for name in ("worker:0", "worker:1")]

  def _candidates(self):
    return trained.Candidates(1, os.path.join(self.path, "model.ckpt-8"), {})

  def _shared(self, *arguments):
    """Returns the `_Requests`, and a function that returns the values."""
    asks, shared = self._asked(*arguments)
    return asks, lambda: shared.values(self._candidates())

  def _asked(self, workers, setup=None, planned="abc", costs=(1, 1, 1)):
    """Returns the `_Requests`, and the `SharedEvaluation`."""
    asks = _Requests(self.path, workers)
    shared = shared_evaluation.SharedEvaluation(
        setup or self._setup(), self.connection("chief:0"),
        types.SimpleNamespace(builder_names=("a", "b", "c"), planned=[
            iteration.Planned(members, tuple(members), None)
            for members in planned]), costs, _GENERATION, asks)
    return asks, shared

  def test_a_users_own_evaluate_gets_all(self):
    asks, values = self._shared(
        self._workers(), self._setup(evaluator="one of a user"))
    self.assertIsNone(values())  # The chief alone.
    self.assertEmpty(asks.asked)

  @parameterized.parameters(*level.first([(None,), (7,), (0,)]))
  def test_all_answer(self, seed):
    asks, values = self._shared(self._workers(), self._setup(seed))
    self.assertEmpty(asks.asked)
    for _ in range(2):
      self.assertEqual(_ALL_VALUES, values())
      self.assertEqual(("", False), self.files())
      self.assertEqual(
          {"chief:0": ("a",), "worker:0": ("b",), "worker:1": ("c",)},
          asks.asked[-1].shares)
      self.now += 1
    seeds = {request.seed for request in asks.asked}
    if seed is None:
      self.assertLen(seeds, 2)
    else:
      self.assertEqual({seed}, seeds)

  @parameterized.parameters(
      ([], "abc", (1, 5, 2), {"chief:0": ("b",), "worker:0": ("c",),
                              "worker:1": ("a",)}),
      ([], ("ac", "b"), (1, 5, 2), {"chief:0": ("b",), "worker:0": ("a", "c")}),
      ([], "ac", (1, 1, None), {"chief:0": ("a",), "worker:0": ("c",)}),
      (["worker:0"], "abc", (1, 5, 2), {"chief:0": ("b",),
                                        "worker:1": ("a", "c")}),
      (["worker:0", "worker:1"], "abc", (1, 1, 1), None),
      ([], ("abc",), (1, 1, 1), None), ([], "a", (1, 1, 1), None))
  def test_shares(self, silent, planned, costs, shares):
    self.silent = silent
    asks, values = self._shared(self._workers(), None, planned, costs)
    result = values()
    self.assertEqual(shares, asks.asked[0].shares if asks.asked else None)
    self.assertEqual(shares is None, result is None)  # The chief alone did it.

  @parameterized.parameters(
      dict(search="other data"), dict(evaluator=evaluator_lib.Evaluator(
          len, metric_name="another")))
  def test_worker_with_something_else(self, **setup):
    _, values = self._shared([
        self.worker(self._setup(**setup), "worker:0"), self._workers()[1]])
    with self.assertLogs(level="WARNING") as logged:
      self.assertEqual(_ALL_VALUES, values())
    self.assertIn(
        "the chief evaluates b itself, because worker:0 (worker:0's address) "
        "has another metric_name, or other data in evaluator.input_fn",
        logged.output[-1])

  def test_logits_where_the_model_dir_has_another_name(self):
    link = os.path.join(self.create_tempdir().full_path, "link")
    os.symlink(self.path, link)
    setup = self._setup()._replace(model_dir=model_dir_lib.ModelDir(link))
    _, shared = self._asked(
        [self.worker(setup, name) for name in ("worker:0", "worker:1")])
    read = []
    with mock.patch.multiple(
        shared_evaluation.logits_lib, read=lambda folder: read.append(
            folder.startswith(self.path) and os.path.isdir(folder)), merged=len,
        write=lambda logits, folder: os.makedirs(folder)), mock.patch.object(
            shared_evaluation.held_out_pass, "record",
            return_value=(None, None)), shared.logits(
                self._candidates()) as num_parts:
      self.assertEqual(3, num_parts)
    self.assertEqual([True] * 3, read)
    self.assertFalse(os.path.exists(os.path.join(
        self.path, "cluster", "evaluated")))

  def test_worker_that_fails(self):
    _, values = self._shared([
        self.worker(self._setup(search="fails"), "worker:0"),
        self._workers()[1]])
    with self.assertLogs(level="WARNING") as logged:
      self.assertEqual(_ALL_VALUES, values())
    self.assertIn("the chief evaluates b itself, because worker:0 (worker:0's "
                  "address) failed: OSError: no such file.", logged.output[-1])
    self.assertBetween(self.now, 1000., 1000.1)

  @parameterized.parameters(
      ("does not answer", 0), ("has not begun", 10),
      ("has not answered in time", 100))
  def test_worker_without_an_answer(self, reason, secs):
    asks, values = self._shared(self._workers()[:1])

    def begin():
      if reason == "does not answer":
        self.silent = ["worker:1"]
      elif reason == "has not answered in time":
        asks.write(asks.asked[-1], "worker:1",
                   shared_evaluation.Answer(is_done=False))

    asks.workers.append(begin)
    with self.assertLogs(level="WARNING") as logged:
      self.assertEqual(_ALL_VALUES, values())
    self.assertBetween(self.now, 1000 + secs, 1001.1 + secs)
    lines = "\n".join(logged.output)
    self.assertIn("the chief evaluates c itself, because worker:1 (worker:1's "
                  f"address) {reason}.", lines)
    self.assertEqual(secs > 0, "Waiting for worker:1 (worker:1's address) to "
                     "evaluate c: 5 s so far" in lines)
    self.assertEqual(("", False), self.files())

  def test_chief_that_fails(self):
    _, values = self._shared(self._workers(), self._setup(search="fails"))
    with self.assertRaisesRegex(OSError, "no such file"):
      values()
    self.assertEqual(("", False), self.files())

  def _request(self):
    return _REQUEST._replace(
        generation=_GENERATION, iteration=1, checkpoint="model.ckpt-8",
        shares={"worker:0": ("a",)})

  def test_requests_for_other_tasks(self):
    asks = shared_evaluation.EvaluationRequests(self.path)
    answer_if_asked = self._workers()[0]
    asked = self._request()
    self.assertFalse(answer_if_asked())
    for request in (asked._replace(job="other"),
                     asked._replace(generation=_GENERATION - 1),
                     asked._replace(shares={"worker:1": ("a",)})):
      asks.ask(request)
      self.now += 1
      self.assertFalse(answer_if_asked())
    asks.ask(asked)
    self.assertFalse(answer_if_asked())  # It looks once a second.
    self.now += 1
    self.assertTrue(answer_if_asked())
    self.assertEqual(shared_evaluation.Answer(
        [{"before": 8., "a": ord("a")}, "adanet_loss", .5]),
                     asks.answer(asked, "worker:0"))
    self.now += 1
    self.assertFalse(answer_if_asked())

  def test_request_that_is_cancelled(self):
    asks = shared_evaluation.EvaluationRequests(self.path)
    asks.ask(self._request())

    def late(*args):
      asks.clear()
      self.now += 1
      return self._evaluated(*args)

    with mock.patch.object(candidates_lib, "compared", late), self.assertLogs(
        level="INFO") as logged:
      self.assertTrue(self._workers()[0]())
    self.assertIn("worker:0 ends this: the chief does not wait",
                  logged.output[-1])
    self.assertEqual(("", False), self.files())


def _shuffled():
  """Returns the data in an order that no seed of its own says."""
  features, labels = builders.data()
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      ({"x": features}, labels)).shuffle(len(labels)).batch(4)


@level.gate
class ValuesTest(_Test):
  """What is found is what one process finds, on the same batches."""

  def test_values_and_reports(self):
    builder_list = [  # The last two are the same.
        builders.Dense(name, width=width)
        for name, width in (("a", 2), ("b", 3), ("c", 3))]
    searches.estimator(
        self.path, *builder_list, force_grow=True,
        enable_ensemble_summaries=False,
        enable_subnetwork_summaries=False).train(builders.input_fn())
    # What is found on 3 of 8 batches depends on their order.
    setup = setup_lib.SearchSetup(
        searches.make(builder_list), model_dir_lib.ModelDir(self.path),
        tf_compat.RunConfig(model_dir=self.path),
        distributed.RoundRobinStrategy(),
        setup_lib.Rules(adanet.Evaluator(_shuffled, steps=3)),
        adanet.ReportMaterializer(_shuffled, steps=3))
    checkpoint = setup.model_dir.latest_checkpoint()
    asks = _Requests(self.path, [
        self.worker(setup, name) for name in ("worker:0", "worker:1")])
    with setup.graph(_shuffled, "eval", 1) as built:
      shared = shared_evaluation.SharedEvaluation(
          setup, self.connection("chief:0"), built.iteration,
          built.iteration.builder_costs, _GENERATION, asks)
      candidates = candidates_lib.of_iteration(built.iteration, checkpoint)
    values = shared.values(candidates)
    self.now += 1
    reports = shared.reports(candidates, ["b"])
    self.assertFalse(os.path.exists(os.path.join(
        self.path, "cluster", "evaluated")))
    self.assertLen(asks.asked, 2)
    self._assert_values(setup, checkpoint, asks.asked[0].seed, values)
    self._assert_reports(setup, checkpoint, asks.asked[1].seed, reports)

  def _assert_values(self, setup, checkpoint, seed, values):
    expected = candidates_lib.values(_seeded(setup, seed), 1, checkpoint)
    self.assertLen(values, 4)
    self.assertEqual(expected.keys(), values.keys())
    np.testing.assert_allclose(
        list(expected.values()), [values[name] for name in expected],
        atol=1e-6, rtol=0)
    self.assertAlmostEqual(
        *[values[name] for name in list(expected)[2:]], delta=1e-6)

  def _assert_reports(self, setup, checkpoint, seed, reports):
    expected = candidates_lib.reports(
        _seeded(setup, seed), 1, checkpoint, ["b"])
    self.assertEqual(["previous_ensemble", "a", "b", "c"],
                     [report.name for report in reports])
    for report, other in zip(expected, reports):
      self.assertNotEmpty(report.metrics)
      self.assertEqual(report.metrics.keys(), other.metrics.keys())
      for name, value in report.metrics.items():
        self.assertAlmostEqual(value, other.metrics[name], delta=1e-6)
      self.assertEqual(report._replace(metrics={}), other._replace(metrics={}))


def _seeded(setup, seed):
  return setup._replace(config=setup.config.replace(tf_random_seed=seed))


if __name__ == "__main__":
  absltest.main()
