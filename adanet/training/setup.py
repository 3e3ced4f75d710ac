# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The setup of a search, which builds the graphs of the iterations."""

import contextlib
import functools
from typing import (Any, Callable, ContextManager, Iterator, List, NamedTuple,
                    Optional, Tuple)

from adanet import distributed
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import building
from adanet.core import iteration as iteration_lib
from adanet.core import model_dir as model_dir_lib
from adanet.core import report_store as report_store_lib
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.distributed import placement
from adanet.training import input_fn as input_fn_lib
from adanet.training import sessions

# Evaluation and export build the whole graph locally, and read all input.
_ALONE = placement.TaskConfig(
    num_worker_replicas=1, num_ps_replicas=0, global_id_in_cluster=0,
    is_chief=True, task_type="worker", task_id=0)


def _check_time(share, strategy, has_steps):
  """Checks that ensembles that have steps get time where a worker divides it.
  """
  fraction = share.ensemble_fraction or 0
  if share.fractions is not None and share.builds_ensemble and not (
      0 < fraction < 1) and (fraction or has_steps):
    raise ValueError(
        f"placement_strategy={strategy!r}: ensemble_fraction="
        f"{share.ensemble_fraction} of a worker that builds the ensemble and "
        "trains subnetworks: expected a number between 0 and 1")


class BuiltGraph(NamedTuple):
  """The graph of an iteration, which is the default graph in the context.

  Attributes:
    iteration: `Iteration`.
    task: `LearningTask`.
    initializers: list of ops that start the input in a session.
    input_turn: see `Input`.
  """
  iteration: iteration_lib.Iteration
  task: subnetworks.LearningTask
  initializers: List[Any]
  input_turn: Any = None


class Rules(NamedTuple):
  """How a winner is found. See `adanet.Estimator` for the attributes."""
  evaluator: Any = None
  replay_config: Any = None
  force_grow: bool = False
  patience: Optional[int] = None
  min_delta: float = 0.

  @property
  def metric_name(self) -> str:
    """The name of the metric that compares candidates."""
    return self.evaluator.metric_name if self.evaluator else "adanet_loss"


class SearchSetup(NamedTuple):
  """A search, where it lies, and where it runs.

  Attributes:
    search: `Search`.
    model_dir: `ModelDir`.
    config: RunConfig.
    placement: `PlacementStrategy`, for training.
    rules: `Rules`.
    report_materializer: `adanet.ReportMaterializer` or None.
    report_store: `ReportStore`, or None without a report_materializer.
    part: tuple of str, the names of the builders of one part of an iteration:
      only these are built, with their ensembles; None for the builders that
      `placement` assigns.
    only: `Architecture` of the one ensemble that is built of an iteration, with
      its subnetworks; None for all. It is not for training.
    applies_head: see `LearningTask`.
    with_members: see `building.build`.
  """
  search: iteration_lib.Search
  model_dir: model_dir_lib.ModelDir
  config: Any
  placement: distributed.PlacementStrategy
  rules: Rules = Rules()
  report_materializer: Any = None
  report_store: Optional[report_store_lib.ReportStore] = None
  part: Optional[Tuple[str, ...]] = None
  only: Optional[architecture_lib.Architecture] = None
  applies_head: bool = True
  with_members: bool = False

  def _reports(self, number):
    if self.report_store is None:
      return [], []
    return self.report_store.for_generator(number)

  def _share(self, strategy, number, builder_names):
    """Returns which parts the worker builds and trains, by the strategy."""
    part = self.part
    if self.only is not None:
      part = self.only.subnetworks_of(number)
    if part is not None:
      return placement.Share(
          builds_ensemble=True, trains_subnetworks=True, subnetworks=tuple(
              i for i, name in enumerate(builder_names) if name in part))
    share = strategy.worker_share(len(builder_names))
    if self.config.num_worker_replicas > 1:
      _check_time(share, strategy, not all(
          map(iteration_lib.is_fitted, self.search.ensemblers)))
      return share
    # A single worker does not divide the work. There, one batch trains all.
    return share._replace(fractions=None, ensemble_fraction=None)

  def history(self, number: int) -> List[
      Tuple[int, architecture_lib.Architecture]]:
    """Returns the winners before an iteration, and their iterations.

    Raises:
      architecture.ArchitectureError: a file is corrupt.
    """
    architectures = [(t, self.model_dir.architecture(t)) for t in range(number)]
    return [(t, a) for t, a in architectures if a is not None]

  def graph(self, input_fn: Callable[..., Any], mode: str,
            number: int, scope: Callable[
                [], ContextManager[Any]] = contextlib.nullcontext,
            num_subnetworks: Optional[int] = None
           ) -> ContextManager[BuiltGraph]:
    """Builds the graph of an iteration; see `graph_on`.

    Args:
      num_subnetworks: int, the number of builders of the iteration; None to ask
        the generator, if the input depends on the number.
    """
    return self.graph_on(
        self._reader(input_fn, mode, num_subnetworks or functools.partial(
            self._count_subnetworks, input_fn, number)), mode, number, scope)

  def _count_subnetworks(self, input_fn, number):
    """Returns how many builders an iteration has, from a graph of none of them.

    A generator may ask for the previous ensemble, which is built on the input.
    """
    with self._replace(part=()).graph(input_fn, "train", number) as built:
      return len(built.iteration.builder_names)

  def not_finite(self, input_fn: Callable[..., Any], mode: str,
                 num_batches: Optional[int], num_subnetworks: int = 1) -> str:
    """Returns the tensors of an input with NaN; see `input_fn.not_finite`.

    Args:
      num_subnetworks: int, see `graph`; only to train.
    """
    return input_fn_lib.not_finite(
        lambda: self._reader(input_fn, mode, num_subnetworks)(
            self._strategy(mode)), num_batches)

  def not_finite_of_evaluator(self) -> str:
    """Returns a sentence that names NaN values of the evaluator's input, or "".
    """
    evaluator = self.rules.evaluator
    names = evaluator and self.not_finite(
        evaluator.input_fn, "eval", getattr(evaluator, "steps", None))
    return names and (
        f" The input of the evaluator has NaN or infinity in {names}.") or ""

  @contextlib.contextmanager
  def graph_on(self, read: Callable[[distributed.PlacementStrategy],
                                    input_fn_lib.Input],
               mode: str, number: int, scope: Callable[
                   [], ContextManager[Any]] =
               contextlib.nullcontext) -> Iterator[BuiltGraph]:
    """Builds the graph of an iteration.

    Args:
      read: function from the strategy to the `Input`, called in the graph.
      mode: str, a constant of `tf.estimator.ModeKeys`. Unless the mode is
        "train", this machine builds everything.
      scope: function that enters a scope of the graph, such as devices.

    Yields:
      `BuiltGraph`.
    """
    with self._task_graph(read, mode, scope) as (strategy, task, batch):
      iteration = building.build(
          self.search, self.history(number), number, task, self.config,
          strategy, functools.partial(self._share, strategy, number),
          self._reports, self.only, self.with_members)
      yield BuiltGraph(iteration, task, batch.initializers, batch.turn)

  def task_graph(self, input_fn: Callable[..., Any], mode: str
                ) -> ContextManager[Tuple[
                    Any, subnetworks.LearningTask, input_fn_lib.Input]]:
    """Builds a graph with the input alone, otherwise equal to that of `graph`.

    Random ops of an input without seeds get the same seeds in both graphs.

    Returns:
      A context manager that yields the strategy, the `LearningTask`, and the
      `Input`.
    """
    return self._task_graph(
        self._reader(input_fn, mode, 1), mode, contextlib.nullcontext)

  def _input_contexts(self, input_fn, strategy, num_subnetworks):
    """Returns the `InputContext` of each turn, or of the only input.

    Args:
      num_subnetworks: int, or function that returns the number.
    """
    def context(*place):
      return tf_compat.v1.distribute.InputContext(*place)

    num_workers = strategy.config.num_worker_replicas
    if self.part is not None or num_workers == 1:
      return [context(1, 0)]  # A part has the batches of one process.
    takes_context = input_fn_lib.takes_input_context(input_fn)
    own = None if takes_context else context(1, 0)
    if takes_context and getattr(input_fn, "is_endless", False):
      # Each worker reads all rows, in an order of its own.
      own = context(num_workers, strategy.config.global_id_in_cluster)
    if own is not None and not strategy.divides_time:
      return [own]
    if callable(num_subnetworks):
      num_subnetworks = num_subnetworks()
    share = strategy.worker_share(num_subnetworks)
    if not share.takes_turns:
      return [own or strategy.worker_input_context(num_subnetworks)]
    # Else what trains in turns would share the batches out among itself.
    return [own or strategy.input_context(num_subnetworks, i)
            for i in share.trained] + [own or context(1, 0)] * bool(
                share.builds_ensemble)

  def _reader(self, input_fn, mode, num_subnetworks):
    """Returns a function from the strategy to the `Input`.

    Args:
      num_subnetworks: int, the number of the iteration's subnetworks, or
        function that returns the number.
    """
    return lambda strategy: input_fn_lib.call(
        input_fn, mode, self.config, self._input_contexts(
            input_fn, strategy, num_subnetworks))

  def _strategy(self, mode):
    if mode == "train":
      return self.placement.with_config(self.config)
    return distributed.ReplicationStrategy().with_config(_ALONE)

  @contextlib.contextmanager
  def _task_graph(self, read, mode, scope):
    strategy = self._strategy(mode)
    with scopes.new_graph(
        self.config.tf_random_seed).as_default() as graph, scope():
      # Without this, TensorFlow 1.15 changes it in place, while a hook of the
      # same run still reads it.
      with tf_compat.v1.variable_scope(
          tf_compat.v1.get_variable_scope(), use_resource=True):
        tf_compat.v1.train.create_global_step(graph)
      batch = read(strategy)
      yield strategy, subnetworks.LearningTask(
          self.search.head, self.search.metric_fn, batch.features, batch.labels,
          mode, self.applies_head), batch

  @contextlib.contextmanager
  def session(self, built: BuiltGraph, checkpoint: Optional[str],
              new: Optional[str] = None) -> Iterator[
                  Tuple[Any, Any]]:
    """Opens a session on a built graph, with the values of a checkpoint.

    Yields:
      The session and its coordinator.
    """
    opened = self.open_session(built, checkpoint, new)
    with contextlib.closing(opened), opened.entered() as session:
      yield session, opened.coordinator

  def open_session(self, built: BuiltGraph, checkpoint: Optional[str],
                   new: Optional[str] = None) -> sessions.OpenSession:
    """Opens a session on a built graph, with the values of a checkpoint.

    Args:
      checkpoint: str, the prefix; None for the initial values.
    """
    return sessions.OpenSession(
        sessions.local_session(self.config.session_config),
        sessions.Initializers(
            sessions.Restorer(checkpoint, new) if checkpoint else None,
            built.iteration.local_init_ops, built.initializers),
        built.task.features)
