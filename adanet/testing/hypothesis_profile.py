# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings of every Hypothesis test. Importing this module loads them:

  from adanet.testing import hypothesis_profile  # pylint: disable=unused-import

A test with expensive examples may ask for fewer with
`@hypothesis.settings(max_examples=...)`; the other settings still apply.
"""

import hypothesis
import hypothesis.strategies as st

# Any text, as `st.text()`. That one finds what UTF-8 can write by trying each
# character, which takes seconds in each process.
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)))
# For what `st.builds` finds in annotations.
st.register_type_strategy(str, TEXTS)

hypothesis.settings.register_profile(
    "adanet",
    # Each run tries the same examples and keeps no files.
    database=None,
    derandomize=True,
    # A busy machine must not fail a test: no time limit for an example, or for
    # making one.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=50)
hypothesis.settings.load_profile("adanet")
