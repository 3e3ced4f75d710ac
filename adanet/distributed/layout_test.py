# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that each layout agrees with itself and with the strategies."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed import layout as layout_lib
from adanet.distributed import placement
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st


def _costs(num_subnetworks):
  return [1 + 2.5 * i for i in range(num_subnetworks)]


class _Subclass(placement.RoundRobinStrategy):
  """Overrides nothing, and is asked all the same."""


class _BalancedSubclass(placement.BalancedStrategy):
  """Overrides nothing either."""


_STRATEGIES = st.sampled_from([
    placement.ReplicationStrategy(),
    placement.RoundRobinStrategy(),
    placement.RoundRobinStrategy(drop_remainder=True),
    placement.RoundRobinStrategy(dedicate_parameter_servers=False),
    placement.BalancedStrategy(),
    placement.BalancedStrategy(_costs, num_ensemble_workers=2),
    placement.BalancedStrategy(
        "measured", _costs, num_ensemble_workers=0),
    placement.BalancedStrategy(dedicate_parameter_servers=False),
    _Subclass(),
    _BalancedSubclass(_costs, _costs, num_ensemble_workers=0),
])


def _answers(strategy, num_workers, worker_index, num_ps, num_subnetworks):
  """Returns the answers of a strategy's public methods, as a `Share`."""
  strategy = strategy.with_config(
      strategies.Config(num_workers, num_ps, worker_index))
  return layout_lib.Share(
      strategy.should_build_ensemble(num_subnetworks),
      [i for i in range(num_subnetworks)
       if strategy.should_build_subnetwork(num_subnetworks, i)],
      strategy.should_train_subnetworks(num_subnetworks),
      strategy.training_fractions(num_subnetworks),
      strategy.ensemble_fraction(num_subnetworks))


class LayoutTest(parameterized.TestCase):

  @hypothesis.given(
      strategy=_STRATEGIES, m=st.integers(1, 30), n=st.integers(0, 12),
      k=st.integers(1, 12))
  def test_says_what_the_strategy_answers_each_worker(self, strategy, m, n, k):
    layout = strategy.layout_for(m, n)
    seen = []
    for workers, group_share in layout.groups(m, k):
      self.assertNotEmpty(workers)
      for w in workers:
        answers = _answers(strategy, m, w, n, k)
        config = strategies.Config(m, n, w)
        for share in (group_share, layout.share(m, w, k),
                      strategy.with_config(config).worker_share(k)):
          self.assertEqual(answers, share._replace(
              subnetworks=list(share.subnetworks),
              fractions=share.training_fractions(),
              ensemble_fraction=share.time_for_ensembles(k)))
      seen.extend(workers)
    self.assertCountEqual(range(m), seen)
    as_chief = strategy.with_config(strategies.Config(m, n, 0))
    for i in range(k):
      self.assertEqual(as_chief.subnetwork_parameter_servers(k, i),
                       layout.parameter_servers(n, k, i))

  @hypothesis.given(
      strategy=_STRATEGIES, m=st.integers(1, 30), k=st.integers(1, 12))
  def test_shares_of_the_input_are_those_of_the_asked(self, strategy, m, k):
    layout = strategy.layout_for(m, 0)
    asked = layout_lib.AskedLayout(strategy, m, 0)
    for w in range(m):
      for i in range(k):
        self.assertEqual(asked.input_share(m, w, k, i),
                         layout.input_share(m, w, k, i))

  def test_a_strategy_of_a_users_own_gives_its_layout(self):
    layout = layout_lib.RoundRobinLayout(
        drop_remainder=False, dedicate_parameter_servers=True)

    class Known(strategies.Custom):

      def layout_for(self, num_workers, num_ps):
        return layout

    strategy = Known(None, None, None)
    strategy.config = strategies.Config(10**12, 0, 7)
    context = strategy.input_context(10, 6)
    self.assertEqual(layout.input_share(10**12, 7, 10, 6), (
        context.num_input_pipelines, context.input_pipeline_id))

  @hypothesis.given(
      m=st.integers(2, 10**6), k=st.integers(2, 10**4), data=st.data())
  def test_untrained_subnetworks(self, m, k, data):
    layout = layout_lib.RoundRobinLayout(
        drop_remainder=True, dedicate_parameter_servers=True)
    untrained = layout.untrained_subnetworks(m, k)
    i = data.draw(st.integers(0, k - 1))
    trained = any(share.trains_subnetworks and i in share.subnetworks
                  for _, share in layout.groups(m, k))
    self.assertEqual(trained, i not in untrained)

  @parameterized.parameters(
      (placement.RoundRobinStrategy,), (placement.ReplicationStrategy,),
      (placement.BalancedStrategy,))
  def test_parameter_servers_are_unknown_if_a_subclass_places_variables(
      self, strategy_class):

    class Places(strategy_class):

      def subnetwork_devices(self, num_subnetworks, subnetwork_index):
        return super().subnetwork_devices(num_subnetworks, subnetwork_index)

    class PlacesAndSays(Places):

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return [1]

    class Says(strategy_class):

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return [1]

    # Variables follow what a subclass says, unless they are on the default
    # devices.
    is_followed = strategy_class is not placement.ReplicationStrategy
    for strategy, expected in ((strategy_class(), range(2)), (Places(), None),
                               (PlacesAndSays(), [1]),
                               (Says(), [1] if is_followed else None)):
      self.assertEqual(
          expected, strategy.layout_for(3, 2).parameter_servers(
              2, 1, 0))


if __name__ == "__main__":
  absltest.main()
