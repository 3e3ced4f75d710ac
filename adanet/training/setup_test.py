# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the graph that a `SearchSetup` builds, and of a session on it.

`adanet/core:building_test` has what an iteration is made of.
"""

import contextlib
import json
import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import ensemble
from adanet import inputs
from adanet import subnetwork
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import evaluator as evaluator_lib
from adanet.core import model_dir as model_dir_lib
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
from adanet.training import input_fn as input_fn_lib
from adanet.training import setup as setup_lib
import numpy as np

v1 = tf_compat.v1
_NAN = float("nan")


def _architecture(name, number, replay_indices=(), with_before=()):
  """Returns the architecture of the winner `name` of an iteration."""
  return architecture_lib.Architecture(
      f"{name}_grow", "complexity_regularized", (*with_before, (number, name)),
      replay_indices, global_step=4 * (number + 1))


def _random_input_fn():
  """Returns random features that have no seed."""
  return {"x": v1.random_uniform([4, 3])}, v1.ones([4, 1])


def _dataset_of(x, y):
  arrays = np.float32(x), np.float32(y)
  return lambda: v1.data.Dataset.from_tensor_slices(
      ({"x": arrays[0]}, arrays[1])).batch(1)


class _ModelCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = model_dir_lib.ModelDir(self.create_tempdir().full_path)

  def _setup(self, strategy=None, ensemblers=None, **arguments):
    """Returns the setup of a search of "a", "b" and "c"."""
    search = searches.make([builders.Dense(name) for name in "abc"], 4)
    if ensemblers:
      search = search._replace(ensemblers=ensemblers)
    return setup_lib.SearchSetup(**{
        "search": search, "model_dir": self._folder,
        "config": tf_compat.RunConfig(
            model_dir=self._folder.path, tf_random_seed=1),
        "placement": strategy or distributed.ReplicationStrategy(),
        **arguments})

  def _without_graphs(self, names="abc"):
    """Lets the input alone be built, of an iteration of some builders."""
    def build(*args):
      return types.SimpleNamespace(
          builder_names=tuple(names), share=args[6](tuple(names)))

    return mock.patch.object(setup_lib.building, "build", build)

  def _config(self, index, num_workers):
    """Returns the config of a worker; that with the index 0 is the chief."""
    names = [f"x:{i + 1}" for i in range(num_workers)]
    task = ({"type": "worker", "index": index - 1} if index else
            {"type": "chief", "index": 0})
    with mock.patch.dict(os.environ, TF_CONFIG=json.dumps({
        "cluster": {"chief": names[:1], "worker": names[1:], "ps": ["x:99"]},
        "task": task})):
      return tf_compat.RunConfig(model_dir=self._folder.path, tf_random_seed=1)


class HistoryTest(_ModelCase):

  def test_winners_before(self):
    winners = [_architecture("a", 0, (0,)), None, _architecture("c", 2, (0, 1))]
    for number, winner in enumerate(winners):
      if winner:
        self._folder.write_architecture(number, winner)
    setup = self._setup()
    self.assertEqual([], setup.history(0))
    self.assertEqual([(0, winners[0])], setup.history(1))
    self.assertEqual([(0, winners[0])], setup.history(2))
    self.assertEqual([(0, winners[0]), (2, winners[2])], setup.history(3))


class GraphTest(_ModelCase):

  @parameterized.parameters(*level.first([("train",), ("eval",), ("infer",)]))
  def test_whole_iteration(self, mode):
    with v1.Graph().as_default() as outside:
      with self._setup().graph(builders.input_fn(1), mode, 0) as built:
        graph = v1.get_default_graph()
        self.assertIsNot(outside, graph)
        self.assertIs(graph, built.iteration.global_step.graph)
        self.assertTrue(v1.train.get_global_step().dtype.is_integer)
      self.assertIs(outside, v1.get_default_graph())
      self.assertEmpty(outside.get_operations())
    iteration = built.iteration
    self.assertEqual(("a", "b", "c"), iteration.builder_names)
    self.assertEqual(["t0_a", "t0_b", "t0_c"],
                     [spec.name for spec in iteration.subnetworks])
    self.assertLen(iteration.candidates, 3)
    self.assertEqual([mode == "train"] * 3, [
        spec.train_op is not None for spec in iteration.subnetworks])
    self.assertEqual((mode, mode == "train"),
                     (built.task.mode, built.task.training))
    self.assertEqual(["x"], list(built.task.features))
    self.assertEqual(mode == "eval", bool(iteration.reports))
    self.assertLen(built.initializers, 1)

  def test_scope_is_that_of_the_input(self):
    @contextlib.contextmanager
    def scope():
      with v1.device("/device:GPU:7"):
        yield

    with self._without_graphs(), self._setup().graph(
        _random_input_fn, "eval", 0, scope):
      self.assertEqual("/device:GPU:7", v1.no_op().device)

  def test_graph_has_the_seed_of_the_config(self):
    for seed in (None, 5):
      config = tf_compat.RunConfig(tf_random_seed=seed)
      with self._setup(config=config).task_graph(_random_input_fn, "eval"):
        self.assertEqual(seed, v1.get_default_graph().seed)

  @parameterized.parameters(*level.first([("train",), ("eval",)]))
  def test_task_graph_has_the_same_random_input(self, mode):
    setup = self._setup()
    batches = []
    with setup.graph(_random_input_fn, mode, 0) as built:
      with setup.session(built, None) as (session, _):
        batches.append(session.run(built.task.features["x"]))
    with setup.task_graph(_random_input_fn, mode) as (_, task, batch):
      self.assertEmpty(v1.trainable_variables())
      with v1.Session() as session:
        session.run([v1.global_variables_initializer(),
                     v1.local_variables_initializer(), batch.initializers])
        batches.append(session.run(task.features["x"]))
    np.testing.assert_array_equal(*batches)
    self.assertGreater(np.ptp(batches[0]), 0.)

  @parameterized.parameters(*level.first(
      [("train", 3, 4), ("eval", 0, 1), ("infer", 0, 1)]))
  def test_whose_strategy_reads(self, mode, index, num_workers):
    """Input is that of the worker in training alone; else it is of one."""
    seen = []

    def read(strategy):
      seen.append(strategy)
      return input_fn_lib.Input(*_random_input_fn(), [])

    user_strategy = distributed.RoundRobinStrategy()
    setup = self._setup(user_strategy, config=self._config(3, 4))
    with setup.graph_on(read, mode, 0) as built:
      pass
    strategy, = seen
    self.assertEqual((index, num_workers), (
        strategy.config.global_id_in_cluster,
        strategy.config.num_worker_replicas))
    self.assertIs(
        distributed.RoundRobinStrategy if mode == "train" else
        distributed.ReplicationStrategy, type(strategy))
    self.assertIsNot(user_strategy, strategy)
    if mode != "train":
      self.assertLen(built.iteration.subnetworks, 3)
      self.assertEmpty(
          [v for v in built.iteration.steps.values() if "ps" in v.device])

  def _contexts(self, strategy, index, num_workers, input_fn=None, names="abc",
                num_subnetworks=None):
    """Returns the places that a worker's input_fn is called with."""
    contexts = []

    def own_input_fn(input_context):
      contexts.append((input_context.num_input_pipelines,
                       input_context.input_pipeline_id))
      return (input_fn or builders.input_fn(1))()

    setup = self._setup(strategy, config=self._config(index, num_workers))
    with self._without_graphs(names), setup.graph(
        own_input_fn, "train", 0, num_subnetworks=num_subnetworks) as built:
      turns = 1 if built.input_turn is None else len(built.initializers)
    return contexts[-turns:]

  @parameterized.parameters(*level.first([
      # The chief trains the ensembles, worker:4 all that workers 0 to 2 train.
      (distributed.RoundRobinStrategy(), 0, 6, [(1, 0)]),
      (distributed.RoundRobinStrategy(), 5, 6, [(2, 1)]),
      (distributed.ReplicationStrategy(), 1, 2, [(2, 1)]),
      # In turns, "a" and the ensembles, or "b" and "c".
      (distributed.BalancedStrategy(), 1, 6, [(2, 0), (1, 0)]),
      (distributed.BalancedStrategy(), 4, 6, [(2, 1), (2, 0)]),
      (distributed.BalancedStrategy(), 5, 6, [(2, 1)])], 2))
  def test_context_follows_from_what_a_worker_trains(
      self, strategy, index, num_workers, expected):
    self.assertEqual(expected, self._contexts(
        strategy, index, num_workers, num_subnetworks=3))

  def test_each_turn_has_all_batches(self):
    x = np.arange(4.).reshape([4, 1])
    reads = []
    strategy = distributed.BalancedStrategy(dedicate_parameter_servers=False)
    with self._without_graphs(), self._setup(
        strategy, config=self._config(1, 2)).graph(
            _dataset_of(x, x), "train", 0) as built:
      with v1.Session() as session:
        session.run(built.initializers)
        for turn in (1, 0, 0, 1, 1, 0, 1, 0):
          reads.append((turn, session.run(
              built.task.features["x"], {built.input_turn: turn}).item()))
        for turn in range(2):
          with self.assertRaises(v1.errors.OutOfRangeError):
            session.run(built.task.features["x"], {built.input_turn: turn})
    for turn in range(2):
      self.assertEqual([0., 1., 2., 3.], [x for t, x in reads if t == turn])

  def test_tensors_are_there_once_for_all_turns(self):
    self.assertLen(self._contexts(
        distributed.BalancedStrategy(), 1, 2, _random_input_fn), 1)

  @parameterized.parameters(*level.first(
      [(None, [1., 2., 3., 0.]), (1, [1.])]))
  def test_arrays_that_end_are_divided_and_others_are_not(
      self, num_epochs, expected):
    x = np.arange(4, dtype=np.float32).reshape([4, 1])
    input_fn = inputs.numpy_input_fn(
        {"x": x}, x, 1, num_epochs=num_epochs, shuffle=False)
    with self._without_graphs(), self._setup(config=self._config(1, 4)).graph(
        input_fn, "train", 0) as built:
      with v1.Session() as session:
        session.run(built.initializers)
        values = []
        with contextlib.suppress(v1.errors.OutOfRangeError):
          while len(values) < 4:
            values.append(session.run(built.task.features["x"]).item())
    self.assertEqual(expected, values)

  def test_context_is_that_of_so_many_subnetworks(self):
    self.assertEqual([(8, 5)], self._contexts(
        distributed.RoundRobinStrategy(), 5, 8, names="a"))

  def test_applies_head(self):
    with self._setup(applies_head=False).graph(
        builders.input_fn(1), "eval", 0) as built:
      self.assertFalse(built.task.applies_head)
      self.assertEmpty(built.iteration.candidates)
      self.assertLen(built.iteration.subnetworks, 3)

  def test_reports_are_those_for_the_generator(self):
    asked, seen = [], []

    class _Asked:

      def for_generator(self, number):
        asked.append(number)
        return ["before"], ["all"]

    class _Seeing(subnetwork.Generator):

      def generate_candidates(self, previous_ensemble, iteration_number,
                              previous_ensemble_reports, all_reports):
        seen.append((previous_ensemble_reports, all_reports))
        return [builders.Dense("a")]

    search = self._setup().search._replace(generator=_Seeing())
    for store in (None, _Asked()):
      with self._setup(search=search, report_store=store).graph(
          builders.input_fn(1), "train", 0):
        pass
    self.assertEqual([0], asked)
    self.assertEqual([([], []), (["before"], ["all"])], seen)


class ShareTest(_ModelCase):
  """Which networks are built, and which of them train."""

  def _built(self, number=0, mode="train", **arguments):
    with self._setup(**arguments).graph(
        builders.input_fn(1), mode, number) as built:
      return built.iteration

  def _names(self, iteration):
    return [spec.name for spec in iteration.subnetworks]

  def _share(self, **arguments):
    with self._without_graphs():
      return self._built(**arguments).share

  @parameterized.parameters(
      (("b",), [1]), (("c", "a"), [0, 2]), (("nobody",), []))
  def test_part(self, part, expected):
    # It is not asked: a part has what it is given.
    share = self._share(
        strategy=distributed.RoundRobinStrategy(), part=part,
        config=self._config(1, 4))
    self.assertEqual(
        (True, True, None),
        (share.builds_ensemble, share.trains_subnetworks, share.fractions))
    self.assertEqual(expected, list(share.subnetworks))

  def test_only_one(self):
    iteration = self._built(mode="infer", only=_architecture("b", 0, (1,)))
    self.assertEqual(["t0_b"], self._names(iteration))
    candidate, = iteration.candidates
    self.assertEqual("t0_b_grow_complexity_regularized", candidate.name)

  def test_only_that_of_the_iteration_before(self):
    before = _architecture("c", 0, (2,))
    self._folder.write_architecture(0, before)
    iteration = self._built(1, "eval", only=before._replace(
        replay_indices=(2, 0)))
    self.assertEmpty(iteration.subnetworks)
    candidate, = iteration.candidates
    self.assertEqual("t0_c_grow_complexity_regularized", candidate.name)

  @parameterized.parameters(
      (distributed.ReplicationStrategy(), 1, [0, 1, 2], True),
      (distributed.RoundRobinStrategy(), 0, [0, 1, 2], True),
      (distributed.RoundRobinStrategy(), 3, [2], False))
  def test_worker_of_four(self, strategy, index, expected, builds_ensemble):
    share = self._share(strategy=strategy, config=self._config(index, 4))
    self.assertEqual((expected, builds_ensemble),
                     (list(share.subnetworks), share.builds_ensemble))

  def test_worker_divides_its_time(self):
    strategy = distributed.BalancedStrategy(num_ensemble_workers=0)
    share = self._share(strategy=strategy, config=self._config(0, 2))
    # Half of three: one and a half.
    self.assertEqual([(0, 1 / 1.5), (1, .5 / 1.5)], [
        (i, float(part)) for i, part in share.fractions])
    self.assertGreater(share.ensemble_fraction, 0)

  def test_single_worker_trains_all_in_each_step(self):
    strategy = distributed.BalancedStrategy()
    share = self._share(strategy=strategy)
    self.assertEqual((None, None, True), (
        share.fractions, share.ensemble_fraction, share.trains_subnetworks))
    self.assertEqual([0, 1, 2], list(share.subnetworks))

  @parameterized.parameters(*[
      # The part of ensembles, whether they have steps, and whether that fits.
      (0, True, True), (0, False, False), (1, False, True), (-.5, False, True),
      (.5, True, False), (None, True, True)])
  def test_time_of_ensembles(self, fraction, has_steps, is_error):
    strategy = distributed.BalancedStrategy(num_ensemble_workers=0)
    share_of = type(strategy).worker_share
    arguments = {
        "strategy": strategy, "config": self._config(0, 2),
        "ensemblers": None if has_steps else [ensemble.GreedyEnsembler()]}
    with mock.patch.object(
        type(strategy), "worker_share", lambda strategy, count: share_of(
            strategy, count)._replace(ensemble_fraction=fraction)):
      if not is_error:
        self.assertEqual(
            fraction, self._share(**arguments).ensemble_fraction)
        return
      with self.assertRaisesRegex(
          ValueError, r"^placement_strategy=.*: ensemble_fraction="
          f"{fraction} of a worker .* expected a number between 0 and 1$"):
        self._share(**arguments)


class NotFiniteTest(_ModelCase):

  @parameterized.parameters(
      (3, "the feature 'x'"), (2, ""))
  def test_of_an_input(self, num_batches, expected):
    input_fn = _dataset_of([[1.], [2.], [_NAN]], [[1.], [1.], [1.]])
    self.assertEqual(expected, self._setup().not_finite(
        input_fn, "train", num_batches))

  @parameterized.parameters(
      (None, "the labels"), (1, ""))
  def test_of_the_evaluator(self, steps, names):
    modes = []

    def input_fn(mode):
      modes.append(mode)
      return _dataset_of([[1.], [2.]], [[1.], [float("inf")]])()

    evaluator = evaluator_lib.Evaluator(input_fn, steps=steps)
    self.assertEqual(names and (
        f" The input of the evaluator has NaN or infinity in {names}."),
                     self._setup(rules=setup_lib.Rules(
                         evaluator)).not_finite_of_evaluator())
    self.assertEqual(["eval"], modes)

  def test_without_an_evaluator(self):
    self.assertEqual("", self._setup().not_finite_of_evaluator())


class SessionTest(_ModelCase):

  @level.gate
  def test_values_of_a_checkpoint(self):
    setup = self._setup()
    prefix = os.path.join(self._folder.path, "of-test")
    name = "adanet/iteration_0/subnetwork_t0_b/hidden"
    with setup.graph(builders.input_fn(1), "eval", 0) as built:
      variable, = (v for v in v1.global_variables() if v.op.name == name)
      with setup.session(built, None) as (session, coordinator):
        initial = session.run(variable)
        self.assertFalse(coordinator.should_stop())
        session.run(v1.assign_add(variable, np.ones_like(initial)))
        v1.train.Saver().save(session, prefix)
      self.assertTrue(coordinator.should_stop())
      with self.assertRaises(RuntimeError):
        session.run(variable)
      opened = setup.open_session(built, prefix)
      self.addCleanup(opened.close)
      with setup.session(
          built, prefix, "adanet/iteration_0/") as (session, _):
        # They are new, whatever the checkpoint has.
        np.testing.assert_array_equal(initial, session.run(variable))
    # Outside of the graph.
    with opened.entered() as session:
      np.testing.assert_array_equal(initial + 1, session.run(variable))
      self.assertEqual([8, 3], list(session.run(
          built.task.features["x"]).shape))


if __name__ == "__main__":
  absltest.main()
