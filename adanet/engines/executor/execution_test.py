# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what happens to parts on an executor. Nothing is trained."""

import collections
import signal
import time
from concurrent import futures
from concurrent.futures import process
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import user_input
from adanet.core import events
from adanet.core import selection
from adanet.engines.executor import execution
from adanet.engines.executor import part as part_lib
from adanet.engines.executor import part_files
from adanet.testing import engines
from adanet.testing import parts
from adanet.training import signals
from adanet.training import trainer

_Outcome = part_lib.PartOutcome
_End = part_lib.PartEnd


class _Executor(engines.Here):
  """Calls a function of a request in place of the training of its part.

  Attributes:
    submitted: the first builder of each part that it got.
    requests: the `PartRequest`s.
  """

  def __init__(self, train):
    self.submitted = []
    self.requests = []
    self._train = train

  def submit(self, fn, request):  # pylint: disable=arguments-differ
    self.submitted.append(request.part[0])
    self.requests.append(request)
    return super().submit(self._train, request)


class _Threads(futures.ThreadPoolExecutor):
  """Calls such a function too, on two threads."""

  def __init__(self, train):
    super().__init__(2)
    self._train = train

  def submit(self, fn, request):  # pylint: disable=arguments-differ
    return super().submit(self._train, request)


class _OneByOne(futures.Executor):
  """Trains one part each time that somebody waits."""

  def __init__(self, files):
    self._files = files
    self._waiting = []

  def submit(self, fn, request):  # pylint: disable=arguments-differ
    future = futures.Future()
    self._waiting.append((future, request))
    return future

  def wait(self, pending, timeout, return_when):
    """Stands for `concurrent.futures.wait`."""
    del timeout, return_when
    future, request = self._waiting.pop(0)
    name = f"t0_{request.part[0]}"
    self._files.write_graphs(request.part, request.driver, {name: {"Relu": 1}})
    self._files.write_progress(
        request.part, events.Progress(0, 4, {name: 4}, {name: .5}))
    self._files.write_result(request.part, parts.result(request.driver))
    future.set_result(_Outcome(_End.DONE))
    return {future}, set(pending) - {future}


class _Cluster(futures.Executor):
  """Workers that do what a test says, while an hour passes in no time.

  It stands for `concurrent.futures.wait` and for the clock. A future ends only
  if the test ends it: the scheduler of a cluster may hear no more of a worker
  that has left.

  Attributes:
    requests: dict from the first builder of each part to its `PartRequest`.
    pending: dict from it to its future.
  """

  def __init__(self, *acts):
    """Makes idle workers.

    Args:
      *acts: pairs of a time in seconds, and a function of this executor that is
        called when it has come.
    """
    self._acts = list(acts)
    self._now = 0.
    self.requests = {}
    self.pending = {}

  def __repr__(self):
    return "a mock"

  def submit(self, fn, request):  # pylint: disable=arguments-differ
    name = request.part[0]
    self.requests[name] = request
    self.pending[name] = futures.Future()
    return self.pending[name]

  def monotonic(self):
    """Stands for `time.monotonic`."""
    return self._now

  def wait(self, pending, timeout, return_when):
    """Stands for `concurrent.futures.wait`. Ten seconds are over at once."""
    del timeout, return_when
    self._now += 10.
    if self._now > 3600:
      raise AssertionError("This waits without an end.")
    while self._acts and self._acts[0][0] <= self._now:
      self._acts.pop(0)[1](self)
    ended = {future for future in pending if future.done()}
    return ended, set(pending) - ended


class _Graphs:
  """Notes the graphs that it gets, as a `FingerprintCheck` does."""

  def __init__(self):
    self.written = []

  def write(self, unused_timeout_secs, graphs):
    self.written.append(graphs)


class ExecutionTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(execution, "_POLL_SECS", .02))
    self._model_dir = self.create_tempdir().full_path
    self._files = part_files.PartFiles(self._model_dir, 0)
    self._driver = self._files.begin(None, b"", {})
    self._stops = signals.StopRequests()
    self._events = []
    self._graphs = _Graphs()

  def _results(self, executor, *names):
    """Returns the results of parts that are named by their builder."""
    return execution.Execution(
        executor, trainer.Training(
            trainer.Request(None), self._stops, self._events.append),
        self._files, {
            (name,): parts.request(self._model_dir, self._driver, (name,))
            for name in names or "ab"}, 0, self._graphs).results()

  def _done(self, request):
    self._files.write_result(request.part, parts.result(request.driver))
    return _Outcome(_End.DONE)

  def _losing(self, *losses):
    """Returns an executor; each of its first parts ends in another way."""
    losses = list(losses)
    return _Executor(lambda request: (
        losses.pop(0) if losses else self._done)(request))

  def _raises(self, error, is_done=False):
    def train(request):
      if is_done:
        self._done(request)
      raise error
    return train

  def _error(self, kind, executor, *names):
    with self.assertRaises(kind) as caught:
      self._results(executor, *names)
    return str(caught.exception)

  def _stopped(self, request):
    """Goes on until it is asked to stop."""
    while self._files.is_wanted(request.driver):
      time.sleep(.01)
    return _Outcome(_End.STOPPED)

  def test_each_part_is_trained_once(self):
    executor = self._losing()
    self.assertEqual({(name,): parts.result(self._driver) for name in "ab"},
                     self._results(executor))
    again = self._losing()
    self._results(again, *"bac")
    self.assertEqual([list("ab"), ["c"]],
                     [executor.submitted, again.submitted])

  @parameterized.named_parameters(
      ("error", RuntimeError("KilledWorker"), False, "aba"),
      ("cancelled", futures.CancelledError(), False, "aba"),
      ("error_when_done", RuntimeError("KilledWorker"), True, "ab"),
      ("broken_when_done", futures.BrokenExecutor(), True, "ab"))
  def test_lost(self, error, is_done, submitted):
    executor = self._losing(self._raises(error, is_done))
    self.assertLen(self._results(executor), 2)
    self.assertEqual(list(submitted), executor.submitted)

  @parameterized.parameters(_End.DONE, _End.STOPPED)
  def test_lost_without_an_error(self, end):
    executor = self._losing(lambda request: _Outcome(end))  # No result.
    with self.assertLogs(level="WARNING") as logs:
      self._results(executor)
    self.assertEqual(list("aba"), executor.submitted)
    self.assertIn("lost the part 'a' (its worker stopped)", logs.output[0])

  def test_lost_again_and_again(self):
    executor = self._losing(*[self._raises(RuntimeError("KilledWorker"))] * 9)
    self.assertRegex(
        self._error(execution.ExecutorError, executor, "a"),
        "^iteration 0: the executor lost the part 'a' 5 times .RuntimeError: "
        "KilledWorker.*call train again")
    self.assertLen(executor.submitted, 5)
    # With `pure`, Dask takes an equal one for the one that has failed.
    self.assertEqual(
        list(range(5)), [request.num_losses for request in executor.requests])

  @parameterized.named_parameters(
      ("part", _Outcome(_End.FAILED, "OSError: no", "Traceback: x", "host-1"),
       execution.PartError, r"\Aiteration 0: the part 'a' failed on host-1: "
       r"OSError: no\n\nTraceback: x\Z"),
      ("fork", _Outcome(_End.FORKED), execution.ExecutorError,
       r"\Aexecutor=.*: its workers are forks.*get_context.\"spawn\".*\Z"),
      ("input", _Outcome(_End.INPUT_EMPTY, "train: no batch"),
       user_input.EmptyInputError, r"\Aiteration 0: train: no batch\Z"),
      ("nan", _Outcome(_End.ALL_NAN, "iteration 0: NaN"),
       selection.AllNaNError, r"\Aiteration 0: NaN\Z"))
  def test_error(self, outcome, kind, message):
    executor = self._losing(lambda request: outcome)
    self.assertRegex(self._error(kind, executor), message)
    # Checkpoints with NaN are of no use.
    self.assertEqual(kind == selection.AllNaNError,
                     self._files.driver() is None)

  def test_broken_by_a_part(self):
    def die(request):
      self._files.new_attempt(request.part)
      raise process.BrokenProcessPool("terminated abruptly")

    self._files.new_attempt(("b",))  # Of a driver before.
    executor = self._losing(die, self._raises(
        process.BrokenProcessPool("terminated abruptly")))
    self.assertRegex(
        self._error(execution.ExecutorError, executor),
        r"\Aiteration 0: A worker of executor died while it trained 'a' on "
        r"\S+-\d+: terminated abruptly.*broken for good.*needs more memory")

  def test_an_executor_that_was_shut_down(self):
    executor = futures.ThreadPoolExecutor(1)
    executor.shutdown()
    self.assertRegex(
        self._error(execution.ExecutorError, executor),
        r"\Aiteration 0: the executor takes no more work .RuntimeError: .*"
        r"shutdown.*another executor")

  def test_a_reusable_executor(self):
    """As that of loky, which has to be asked for anew."""

    class Reusable(_Executor):

      @classmethod
      def get_reusable_executor(cls, unused_max_workers, **unused_options):
        return renewed, False

    renewed = Reusable(self._done)
    executor = Reusable(self._raises(process.BrokenProcessPool("terminated")))
    self._results(executor)
    self.assertCountEqual("ab", executor.submitted)
    self.assertCountEqual("ab", renewed.submitted)

  def test_error_stops_the_other_parts(self):
    trains = {"a": self._stopped,
              "b": lambda _: _Outcome(_End.FAILED, "an error")}
    with _Threads(lambda request: trains[request.part[0]](request)) as executor:
      self.assertIn("'b' failed", self._error(execution.PartError, executor))

  def test_signal(self):
    def asks(request):
      self._stops.asked = signal.SIGTERM
      return self._stopped(request)

    with _Threads(asks) as executor, self.assertRaises(SystemExit) as caught:
      self._results(executor)
    self.assertEqual(143, caught.exception.code)

  def test_second_signal(self):
    with mock.patch.object(
        execution.concurrent.futures, "wait", side_effect=KeyboardInterrupt):
      self._error(KeyboardInterrupt, self._losing())
    self.assertFalse(self._files.is_wanted(self._driver))

  def test_parts_that_do_not_stop_are_named(self):
    def goes_on(request):
      self._stops.asked = signal.SIGTERM
      time.sleep(.1)
      return self._done(request)

    with mock.patch.object(execution, "_STOP_SECS", .01), \
         self.assertLogs(level="WARNING") as logs, \
         _Threads(goes_on) as executor, self.assertRaises(SystemExit):
      self._results(executor, "a")
    self.assertIn("these parts have not stopped: a.", logs.output[0])

  def _results_on(self, cluster, *names):
    """Returns the results on a `_Cluster`, and the warnings."""
    with mock.patch.object(futures, "wait", cluster.wait), \
         mock.patch.object(execution, "time", cluster), \
         self.assertLogs(level="WARNING") as logs:
      logging.warning("The first.")  # `assertLogs` fails without a line.
      results = self._results(cluster, *names)
    return results, [record.getMessage() for record in logs.records[1:]]

  def _reach(self, name, step):
    """Returns an act: a worker writes how far a part is."""
    def act(unused_cluster):
      self._files.write_progress((name,), events.Progress(
          0, step, {f"t0_{name}": step}, {f"t0_{name}": .5}))
    return act

  def _finish(self, *names, ends=True):
    """Returns an act: workers write results, and their futures may end."""
    def act(cluster):
      for name in names:
        self._done(cluster.requests[name])
        if ends:
          cluster.pending[name].set_result(_Outcome(_End.DONE))
    return act

  def test_no_worker_begins(self):
    _, lines = self._results_on(_Cluster((1000, self._finish("a", "b"))))
    self.assertEqual([
        "Iteration 0: in 60 s no worker of a mock has trained a step. Still "
        "waiting for the parts: 'a' (begun by no worker), 'b' (begun by no "
        "worker). See whether it has workers, and what they print."], lines)

  def test_each_silence_has_a_line(self):
    new_attempt = lambda cluster: self._files.new_attempt(("b",))
    cluster = _Cluster(
        (0, new_attempt), (20, self._reach("a", 1)),
        # A worker trains "b", and leaves.
        (70, self._reach("b", 1)), (120, self._reach("b", 2)),
        # It comes back, and trains "b" again; then "a" is done.
        (400, self._reach("b", 1)), (450, self._finish("a", ends=False)),
        # It leaves again, and its result is seen late.
        (800, self._finish("b", ends=False)))
    _, lines = self._results_on(cluster)
    self.assertLen(lines, 2)
    worker = part_files.worker_name()
    self.assertIn("parts: 'a' (begun by no worker), 'b' (begun by "
                  f"{worker}, at step 2). See", lines[0])
    self.assertIn(
        f"parts: 'b' (begun by {worker}, at step 1). See", lines[1])

  def test_a_stop_does_not_wait_for_a_part_that_is_done(self):
    def stop(unused_cluster):
      self._stops.asked = signal.SIGTERM

    cluster = _Cluster((10, stop), (20, self._finish("a", ends=False)))
    with self.assertRaises(SystemExit):
      self._results_on(cluster, "a")
    self.assertEqual(20, cluster.monotonic())

  def test_progress_is_that_of_all(self):
    def train(request):
      step, name = {"a": (4, "t0_a"), "b": (7, "t0_b")}[request.part[0]]
      self._files.write_progress(request.part, events.Progress(
          0, step, {name: step}, {name: .5}, 10. / step, float(step)))
      return self._done(request)

    self._results(_Executor(train))
    self.assertEqual(events.Progress(
        0, 5, dict(t0_a=4, t0_b=7), dict(t0_a=.5, t0_b=.5), 10. / 7, 7.),
                     self._events[-1])

  def test_files_of_a_part_are_read_while_it_trains(self):
    one_by_one = _OneByOne(self._files)
    reads = collections.Counter()

    def counted(kind):
      read = getattr(part_files.PartFiles, kind)

      def count(files, part, *args):
        reads[kind, part[0]] += 1
        return read(files, part, *args)
      return mock.patch.object(part_files.PartFiles, kind, count)

    names = [f"b{i}" for i in range(20)]
    with counted("progress"), counted("graphs"), mock.patch.object(
        futures, "wait", one_by_one.wait):
      self._results(one_by_one, *names)
    expected = {("graphs", name): 1 for name in names}
    # And at the beginning.
    expected.update((("progress", name), 2) for name in names)
    self.assertEqual(expected, reads)
    self.assertEqual([{f"t0_{name}": {"Relu": 1}} for name in names],
                     self._graphs.written)
    self.assertEqual({f"t0_{name}": 4 for name in names},
                     self._events[-1].steps)


if __name__ == "__main__":
  absltest.main()
