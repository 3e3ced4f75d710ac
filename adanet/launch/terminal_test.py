# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs jobs of small programs on a terminal: the display, lines and colors."""

import os
import re

from absl.testing import absltest
from adanet.testing import launches
from adanet.testing import level


class TerminalTest(launches.LaunchTestCase):

  def _run(self, body, **variables):
    """Returns what a terminal gets."""
    self.write(body)
    terminal, its_end = os.openpty()
    launch = self.start(
        *(launches.SHAPE + (self.program,)), stdout=its_end, stderr=its_end,
        variables=dict({"TERM": "xterm", "COLUMNS": "80", "LINES": "40"},
                       **variables))
    os.close(its_end)
    data = b""
    while True:
      try:
        new = os.read(terminal, 1 << 16)
      except OSError:  # All have closed it.
        break
      if not new:
        break
      data += new
    os.close(terminal)
    self.assertEqual(0, launch.finish()[0], data)
    return data.decode()

  _TRAINS = """
works()
name = me.replace(":", "_")
if me != "ps:0":
  report("IterationBegan", iteration_number=0, subnetworks=[name], ensembles=[],
         max_steps=100, global_step=0)
for step in range(5):
  if me != "ps:0":
    report("Progress", iteration_number=0, global_step=step, steps={name: step},
           losses={name: .5})
    time.sleep(.15)
  print("step", step, me, "of 5")
"""

  def test_display_and_lines(self):
    shown = self._run(self._TRAINS)
    plain = re.sub("\033\\[[0-9;?]*[A-Za-z]", "", shown)
    for name in ("chief_0", "worker_0", "worker_1"):
      self.assertRegex(plain, name + " .* 4/100 +loss 0.5")
    for task in launches.TASKS:
      for step in range(5):
        self.assertRegex(plain, r"(?:^|[\r\n])\[{0}\] step {1} {0} of 5\r\n".format(
            task, step))
    self.assertRegex(shown, "\033\\[3[0-9]m\\[chief:0\\]")

  @level.gate
  def test_no_color(self):
    shown = self._run("print('hello')", NO_COLOR="1")
    self.assertCountEqual(
        [f"[{task}] hello" for task in launches.TASKS],
        shown.splitlines())


if __name__ == "__main__":
  absltest.main()
