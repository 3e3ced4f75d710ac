# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs adanet-plan, mostly within this process: what it prints and returns."""

import contextlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import main as plan_main
from adanet.distributed.plan import picture as plan_picture
from adanet.distributed.plan import table as plan_table
from rich import console as rich_console

_PROGRAM = ("-m", "adanet.distributed.plan")

_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROP_REMAINDER = distributed.RoundRobinStrategy(drop_remainder=True)
_REPLICATION = distributed.ReplicationStrategy()
_BUILT_IN = (_ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION,
             distributed.BalancedStrategy())

# Flags, and the strategy that they name. --compare shows the others after it.
_COMPARED = (
    ("", _ROUND_ROBIN),
    ("--drop_remainder", _DROP_REMAINDER),
    ("--strategy=replication", _REPLICATION),
    ("--strategy=round_robin --nodedicate_parameter_servers",
     distributed.RoundRobinStrategy(dedicate_parameter_servers=False)),
    ("--strategy=balanced --num_ensemble_workers=0 "
     "--nodedicate_parameter_servers", distributed.BalancedStrategy(
         num_ensemble_workers=0, dedicate_parameter_servers=False)),
)
_SHAPES = ((4, 2, 5), (1, 0, 1))

_CLUSTER = {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1", "p:2"]}

_STRATEGY_MODULE = """
from adanet import distributed

class Mine(distributed.RoundRobinStrategy):
  def should_train_subnetworks(self, num_subnetworks):
    {}
  def __repr__(self):
    return "\\u00c9toile[red]"

class Needs(Mine):
  def __init__(self, what):
    pass
"""

_EXECUTOR_TABLE = """\
An executor: 3 workers, 7 subnetworks, the longest first

worker  trains   time  busy
0       0, 4, 6    11  100%
1       1, 5        8   73%
2       2, 3        8   73%

figure          value
training_time      11
ideal_time          9
speedup         2.455
utilization    0.8182
idle_workers        0

The time is 1.22 times the ideal of 9: all costs, divided by the workers.
"""


class _Terminal(io.TextIOWrapper):

  def isatty(self):
    return True


def _shape_flags(num_workers, num_ps, num_subnetworks):
  return [f"--workers={num_workers - 1}", f"--ps={num_ps}",
          f"--subnetworks={num_subnetworks}"]


_FLAGS = _shape_flags(4, 2, 5)


def _environment(**variables):
  names = ("TF_CONFIG", "NO_COLOR", "FORCE_COLOR", "COLUMNS",
           "BUILD_WORKING_DIRECTORY", "PYTHONUNBUFFERED")
  environment = {k: v for k, v in os.environ.items() if k not in names}
  environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
  return dict(environment, **variables)


def _start(*args, **kwargs):
  """Returns the same as `run_main`, of a process of its own."""
  finished = subprocess.run(
      (sys.executable,) + args, timeout=120, check=False,
      **dict({"env": _environment(), "stdout": subprocess.PIPE,
              "stderr": subprocess.PIPE}, **kwargs))
  return finished.returncode, finished.stdout, finished.stderr.decode()


class MainTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.enter_context(mock.patch.object(sys, "path", list(sys.path)))
    self.addCleanup(sys.modules.pop, "mine", None)
    self.addCleanup(signal.signal, signal.SIGPIPE,
                    signal.getsignal(signal.SIGPIPE))

  def write(self, name, text):
    self.create_tempfile(os.path.join(self.folder, name), text)

  def write_strategy(self, body="print('asked'); return False"):
    self.write("mine.py", _STRATEGY_MODULE.format(body))

  def run_main(self, *args, stdin="", stdout=None, **variables):
    """Returns the exit code, standard output as bytes, and standard error."""
    stdout = stdout or io.TextIOWrapper(io.BytesIO(), "utf-8")
    stdin = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")))
    environment = _environment(
        **dict({"BUILD_WORKING_DIRECTORY": self.folder}, **variables))
    with mock.patch.dict(os.environ, environment, clear=True), \
        mock.patch.object(sys, "stdin", stdin), \
        contextlib.redirect_stdout(stdout), \
        contextlib.redirect_stderr(io.StringIO()) as stderr:
      code = plan_main.main(["adanet-plan"] + list(args))
    return code, stdout.buffer.getvalue(), stderr.getvalue()

  def output(self, *args, **kwargs):
    """Returns the standard output of a run without an error, as str."""
    code, output, errors = self.run_main(*args, **kwargs)
    self.assertEqual((0, ""), (code, errors))
    return output.decode("utf-8")

  def assert_refused(self, expected, *args, **kwargs):
    """Asserts that a run prints one line with a text; returns the line."""
    code, output, errors = self.run_main(*args, **kwargs)
    self.assertEqual((2, b""), (code, output))
    self.assertRegex(errors, "\\Aadanet-plan: .*\n\\Z")
    self.assertIn(expected, errors)
    self.assertLess(len(errors), 1100)
    return errors


class PlanTest(MainTestCase):

  @parameterized.parameters(level.first([
      *itertools.product(_COMPARED, _SHAPES), (_COMPARED[0], (2000, 3, 2))]))
  def test_prints_the_plans(self, flags_and_strategy, shape):
    flags, strategy = flags_and_strategy
    plans = [plan_lib.PlacementPlan(s, *shape) for s in (strategy,) + tuple(
        s for s in _BUILT_IN if repr(s) != repr(strategy))]
    # As text, in which 1, 1.0 and True differ, and the order of keys.
    expected = {
        "--format=json": json.dumps(plans[0].to_json_dict(), indent=2) + "\n",
        "--format=json --compare": json.dumps(
            dict(version=plan_lib.JSON_VERSION, **plan_lib.compare(plans)),
            indent=2) + "\n",
    }
    for flag, show, what in (
        ("", plan_table.show, plans[0]),
        ("--compare", plan_table.show_comparison, plans)):
      output = io.StringIO()
      show(what, rich_console.Console(file=output))
      expected[flag] = output.getvalue()
    for more, text in expected.items():
      args = _shape_flags(*shape) + flags.split() + more.split()
      self.assertEqual(text, self.output(*args))
      # The problems of the other plans do not count.
      problems = plans[0].problems()
      errors = "".join(
          f"adanet-plan: --strict: {p.message}\n" for p in problems)
      self.assertEqual(
          (int(bool(problems)), text.encode("utf-8"),
           errors if "json" in more else ""),
          self.run_main("--strict", *args))

  @parameterized.parameters(level.first([
      ("svg", ("--compare",), _BUILT_IN, 0),
      ("png", ("--drop_remainder", "--strict"), (_DROP_REMAINDER,), 1)]))
  def test_draws_the_plans(self, picture_format, flags, strategies, code):
    expected = io.BytesIO()
    plan_picture.write(
        [plan_lib.PlacementPlan(s, 4, 2, 5) for s in strategies], expected,
        picture_format)
    self.assertEqual(
        (code, expected.getvalue()),
        self.run_main("--format=" + picture_format, *_FLAGS, *flags)[:2])

  def compared(self, *flags):
    return json.loads(self.output(
        "--format=json", "--compare", *_shape_flags(5, 2, 3), *flags))

  @parameterized.parameters(
      (dict(costs=(1, 2.5, 4e2), sizes=(3, 2, 1)),
       "--costs=1, 2.5,4e2", "--sizes=3,2,1"),
      (dict(costs=(1, 2, 3), ensemble_cost=4.5),
       "--costs=1,2,3", "--ensemble_cost=4.5"))
  def test_costs(self, weights, *flags):
    balanced = distributed.BalancedStrategy(**weights)
    others = [_ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION]
    for name, strategies in (("balanced", [balanced] + others),
                             ("round_robin", others + [balanced])):
      expected = plan_lib.compare([
          plan_lib.PlacementPlan(s, 5, 2, 3, **weights) for s in strategies])
      self.assertEqual(json.loads(json.dumps(dict(expected, version=1))),
                       self.compared("--strategy=" + name, *flags))

  def test_all_plans_have_the_ensemble_cost_of_a_users_strategy(self):
    self.write("mine.py", """
from adanet import distributed
class Mine(distributed.BalancedStrategy):
  def __init__(self):
    super().__init__(ensemble_cost=2)
""")
    self.assertEqual(
        [2] * 5, self.compared("--strategy=mine:Mine")["ensemble_cost"])

  def test_strategy_of_a_user(self):
    self.write_strategy()
    flags = ["--strategy=mine:Mine"] + _shape_flags(4, 2, 3)
    code, output, errors = self.run_main("--format=json", *flags)
    self.assertEqual(0, code)
    self.assertEqual({"asked"}, set(errors.splitlines()))
    value = json.loads(output.decode("utf-8"))
    self.assertEqual("\u00c9toile[red]", value["strategy"])
    self.assertFalse(any(
        group["trains_subnetworks"] for group in value["worker_groups"]))
    _, output, _ = self.run_main(
        *flags, stdout=io.TextIOWrapper(io.BytesIO(), "ascii"))
    self.assertStartsWith(output, b"\\xc9toile[red]: a chief and 3 workers")

  @parameterized.parameters(
      ("raise RuntimeError('two\\nlines')", 2, "adanet-plan: "
       "--strategy=mine:Mine: a decision failed: RuntimeError: two lines\n"),
      ("raise SystemExit(0)", 2, "adanet-plan: "
       "--strategy=mine:Mine: a decision failed: SystemExit: 0\n"),
      ("raise KeyboardInterrupt()", 130, ""))
  def test_strategy_that_raises(self, body, expected_code, expected_error):
    self.write_strategy(body)
    self.assertEqual((expected_code, b"", expected_error),
                     self.run_main("--strategy=mine:Mine", *_FLAGS))


class ClusterTest(MainTestCase):

  def shape(self, *args, **kwargs):
    value = json.loads(self.output(
        "--format=json", "--subnetworks=2", *args, **kwargs))
    return value["num_workers"], value["num_ps"]

  def test_of_a_tf_config(self):
    for cluster in (_CLUSTER, dict(_CLUSTER, evaluator=["e:1"])):
      for job in (None, "chief", "evaluator", "ps", "of no cluster"):
        task = {"task": {"type": job, "index": 0}} if job else {}
        text = json.dumps(dict(task, cluster=cluster))
        self.write("cluster.json", text)
        self.assertEqual((3, 2), self.shape("--tf_config=cluster.json"))
        self.assertEqual((3, 2), self.shape("--tf_config=-", stdin=text))
        self.assertEqual((3, 2), self.shape(TF_CONFIG=text))
    # What is given on the command line wins.
    self.write("cluster.json", '{"cluster": {"chief": ["c:1"]}}')
    self.assertEqual(
        (1, 0), self.shape("--tf_config=cluster.json", TF_CONFIG=text))
    for flags, shape in (
        ("--workers=6", (7, 0)), ("--workers=6 --ps=2", (7, 2)),
        ("--ps=2", (1, 2)), ("--workers=0", (1, 0)), ("--evaluator", (1, 0))):
      self.assertEqual(shape, self.shape(*flags.split(), TF_CONFIG=text))

  def test_names_tasks_as_the_tf_config(self):
    for chief in ("chief", "master"):
      output = self.output(
          "--subnetworks=1", "--strategy=replication", TF_CONFIG=json.dumps(
              {"cluster": {chief: ["m:1"], "worker": ["w:1"], "ps": ["p:1"]}}))
      self.assertIn(f"\n{chief}:0, worker:0  0, ensemble  0, ensemble\n", output)
      self.assertIn(f"\n{chief}:0, worker:0 build the ensembles;", output)

  @parameterized.parameters(
      ("", "must be a JSON object"),
      ("{'cluster': 3}", "line 1 column 2"),
      ('{"cluster": {"worker": ["w:1"]}}', "['worker']"))
  def test_bad_tf_config(self, text, expected):
    self.write("cluster.json", text)
    for name in ("cluster.json", "-"):
      error = self.assert_refused(
          expected, "--subnetworks=2", "--tf_config=" + name, stdin=text)
      self.assertStartsWith(error, f"adanet-plan: --tf_config={name}: ")
    self.assert_refused(expected, "--subnetworks=2", TF_CONFIG=text)


class BadInputTest(MainTestCase):

  @parameterized.parameters(
      ("--ps=-1", "--ps=-1: expected an integer in the range [0, 100000]."),
      ("--format=gif", "<table|json|svg|png>"),
      ("three", "three: expected flags only"),
      ("--strategy=both", "--strategy=both: expected round_robin, replicat"),
      ("--strategy=replication --drop_remainder",
       "--drop_remainder: expected --strategy=round_robin, got --strategy=rep"),
      ("--strategy=replication --nodedicate_parameter_servers",
       "--dedicate_parameter_servers: expected --strategy=round_robin or "
       "balanced, got --strategy=replication."),
      ("--num_ensemble_workers=2", "--num_ensemble_workers: expected "
       "--strategy=balanced, got --strategy=round_robin."),
      ("", "no cluster: give --workers and --ps"),
      ("--tf_config=a.json --ps=1", "--tf_config=a.json: expected no --work"),
      ("--tf_config=nowhere.json", "--tf_config=nowhere.json: No such file"),
      ("--tf_config=.", "--tf_config=.: Is a directory"),
      ("--workers=9999 --subnetworks=1001", "num_workers=10000, "
       "num_subnetworks=1001: expected at most 10,000,000 pairs of a worker "),
      ("--executor_workers=2 --costs=1,2,3", "--costs=1,2,3: expected 2 numb"),
      ("--strategy=ends:It", "cannot import ends: SystemExit: 0"),
      ("--strategy=mine:It", "expected a subclass of PlacementStrategy in "),
      ("--strategy=mine:Needs", "cannot call Needs without arguments: Type"),
  )
  def test_flags(self, flags, expected):
    self.write_strategy()
    self.write("ends.py", "import sys\nsys.exit(0)")
    self.assert_refused(expected, "--subnetworks=2", *flags.split())

  @parameterized.parameters("1,2,3", "1,two", "1,,2", "", "0,1", "nan,1",
                            "1e101,1")
  def test_costs_and_sizes(self, value):
    for flag in ("--costs=" + value, "--sizes=" + value):
      self.assert_refused(
          flag + ": expected 2 numbers from 1e-100 to 1e+100 with commas "
          "between them, one for each subnetwork.",
          "--workers=3", "--subnetworks=2", flag)

  @parameterized.parameters("two", "-1", "nan", "1e101")
  def test_ensemble_cost(self, value):
    self.assert_refused(
        f"--ensemble_cost={value}: expected 0, or a number from 1e-100 to "
        "1e+100.",
        "--workers=3", "--subnetworks=2", "--ensemble_cost=" + value)

  def test_no_subnetworks(self):
    self.assert_refused("--subnetworks: expected the number", "--workers=3")


class ExecutorTest(MainTestCase):

  def test_table(self):
    for flags in ((), ("--subnetworks=7",)):
      self.assertEqual(_EXECUTOR_TABLE, self.output(
          "--executor_workers=3", "--costs=5,5,4,4,3,3,3", *flags))

  def test_json(self):
    self.assertEqual(
        plan_lib.ExecutorPlan(4, 2, (1, 2.5)).to_json_dict(), json.loads(
            self.output("--executor_workers=4", "--costs=1,2.5",
                        "--format=json")))

  @parameterized.parameters(
      ("--costs=1,2 --ps=2", "expected no --ps, which is for a cluster with "
       "parameter servers."),
      ("--costs=1,2 --ensemble_cost=2", "expected no --ensemble_cost, which is "),
      ("--costs=1,2 --strict", "expected no --strict, which is for a cluster "),
      ("--costs=1,2 --format=svg", "expected --format=table or json, got "
       "--format=svg."),
      ("--costs=1,2 --noevaluator", "expected no --evaluator, which is for a "),
      ("", "expected --costs or --subnetworks."))
  def test_refuses(self, flags, message):
    self.assert_refused(f"adanet-plan: --executor_workers=2: {message}",
                        "--executor_workers=2", *flags.split(), TF_CONFIG="{}")


class InfoTest(MainTestCase):

  def test_help(self):
    output = self.output("--help")
    self.assertCountEqual(
        ["workers", "ps", "[no]evaluator", "subnetworks", "tf_config", "strategy",
         "[no]drop_remainder", "[no]dedicate_parameter_servers",
         "num_ensemble_workers", "executor_workers", "costs", "sizes",
         "ensemble_cost", "format",
         "[no]compare", "[no]strict", "[no]help", "[no]version"],
        re.findall(r"(?m)^  (?:-h,)?--(\S+): ", output))
    self.assertLessEqual(max(map(len, output.splitlines())), 80)
    self.assertEqual(output, self.output("--workers=4", "-help"))

  def test_examples_of_help_work(self):
    self.write_strategy()
    cluster = json.dumps({"cluster": _CLUSTER})
    self.write("cluster.json", cluster)
    commands = re.findall(r"(?m)^  .*adanet-plan ([^<>\n]*)",
                          self.output("--help"))
    self.assertGreater(len(commands), 8)
    for command in commands:
      self.assertEqual(0, self.run_main(
          *command.split(), stdin=cluster, TF_CONFIG=cluster)[0])


class StreamsTest(MainTestCase):

  def on_terminal(self, *args, **variables):
    return self.run_main(
        *_FLAGS, *args, stdout=_Terminal(io.BytesIO(), "utf-8"),
        **dict({"TERM": "xterm-256color", "COLUMNS": "80"}, **variables))

  def test_terminal(self):
    for columns in ("80", "0"):
      output = self.on_terminal(COLUMNS=columns)[1].decode("utf-8")
      self.assertIn("\u2502 0, 1, 2, 3, 4, ensemble \u2502", output)
      self.assertIn("\033[32mNo problems.", output)
    _, output, _ = self.on_terminal("--compare", NO_COLOR="1")
    self.assertNotRegex(output.decode("utf-8"), "\033\\[[0-9;]*3[0-7]")
    code, output, _ = self.on_terminal("--format=png")
    self.assertEqual((2, b""), (code, output))

  def test_closed_standard_input(self):
    with mock.patch.multiple(sys, stdin=None, stderr=io.StringIO()):
      self.assertEqual(2, plan_main.main(
          ["adanet-plan", "--subnetworks=1", "--tf_config=-"]))
      self.assertIn("standard input is closed: expected", sys.stderr.getvalue())


class ProcessTest(MainTestCase):
  """What needs a process of its own."""

  def test_starts(self):
    flags = [*_FLAGS, "--drop_remainder", "--strict"]
    expected = self.run_main(*flags)
    self.assertEqual(1, expected[0])
    self.assertEqual(expected, _start(*_PROGRAM, *flags))

  @level.gate
  def test_closed_pipe(self):
    read, write = os.pipe()
    os.close(read)
    self.addCleanup(os.close, write)
    code, _, errors = _start(*_PROGRAM, *_FLAGS, stdout=write)
    self.assertEqual((-signal.SIGPIPE, ""), (code, errors))

  @parameterized.parameters(level.first([
      ("svg", "matplotlib", "'adanet-distributed[plot]'"),
      ("table", "rich", "rich")]))
  def test_without(self, output_format, package, requirement):
    self.write(package + ".py",
               f"raise ModuleNotFoundError(name='{package}')")
    self.assertEqual(
        (2, b"", f"adanet-plan: {package} is not installed: pip install "
                 f"{requirement}\n"),
        _start(*_PROGRAM, "--format=" + output_format, *_FLAGS,
               env=_environment(
                   PYTHONPATH=os.pathsep.join([self.folder] + sys.path))))

  @parameterized.parameters(level.first([
      ("--help", {"numpy", "rich", "matplotlib"}),
      ("--format=json", {"rich", "matplotlib"}),
      ("--format=table", {"matplotlib"})]))
  def test_imports_no_more_than_it_needs(self, flag, unused):
    code, _, errors = _start(
        "-X", "importtime", *_PROGRAM, flag, "--subnetworks=3",
        env=_environment(TF_CONFIG=json.dumps({"cluster": _CLUSTER})))
    self.assertEqual(0, code)
    imported = set(re.findall(r"(?m)\| *(\w+)", errors))
    self.assertIn("absl", imported)
    self.assertNoCommonElements(
        imported, unused | {"tensorflow", "tensorflow_core", "tf_keras"})


if __name__ == "__main__":
  absltest.main()
