# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the text of errors as one line."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import error_text

_RULER = "=" * 21


class ErrorTextTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("one_line", "no such file", "no such file"),
      ("more_lines", "  no such file\n\tand a traceback", "no such file"),
      ("ruler", f"\n{_RULER}\nUNAVAILABLE: closed\n{_RULER}\n",
       "UNAVAILABLE: closed"),
      ("other_rulers", "----\n ____ \n\r\n*** closed ***", "*** closed ***"),
      ("root_errors", "2 root error(s) found.\n  (0) UNAVAILABLE: closed\n\t "
       "[[{{node a}}]]\n  (1) CANCELLED: other", "UNAVAILABLE: closed"),
      ("heading_and_ruler",
       f"Graph execution error:\n\n{_RULER}\nUNAVAILABLE: closed",
       "UNAVAILABLE: closed"),
      ("another_task", "From /job:ps/replica:0/task:0:\nclosed", "closed"),
      ("nodes", "Graph execution error:\n\nDetected at node 'a' defined at (most "
       "recent call last):\n    File \"a.py\", line 9\n\nNode: 'a'\nDetected at "
       "node 'b' defined at (most recent call last):\nNode: 'b'\nclosed\n",
       "closed"),
      ("nothing", "", "UnavailableError"),
      ("only_a_ruler", _RULER, "UnavailableError"))
  def test_first_line(self, text, expected):
    error = tf_compat.v1.errors.UnavailableError(None, None, text)
    self.assertEqual(expected, error_text.first_line(error))

  def test_error_of_python(self):
    self.assertEqual("StopIteration", error_text.first_line(StopIteration()))
    self.assertEqual("7", error_text.first_line(KeyError(7)))

  def test_error_of_a_session(self):
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      read = v1.io.read_file("/none/at/all")
      with self.assertRaises(v1.errors.NotFoundError) as caught:
        session.run(read)
    self.assertEqual("/none/at/all; No such file or directory",
                     error_text.first_line(caught.exception))


if __name__ == "__main__":
  absltest.main()
