# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs adanet-plan, the program: what it prints, and what it exits with."""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import main as plan_main
from adanet.distributed.plan import picture as plan_picture
from adanet.distributed.plan import table as plan_table
from rich import console as rich_console
import runfiles

_PROGRAM = runfiles.Create().Rlocation(
    "adanet/adanet/distributed/plan/main.py")
_TIMEOUT_SECS = 60

_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROP_REMAINDER = distributed.RoundRobinStrategy(drop_remainder=True)
_REPLICATION = distributed.ReplicationStrategy()

_STRATEGIES = {
    (): _ROUND_ROBIN,
    ("--strategy=round_robin",): _ROUND_ROBIN,
    ("--drop_remainder",): _DROP_REMAINDER,
    ("--nodrop_remainder", "--nodedicate_parameter_servers"):
        distributed.RoundRobinStrategy(dedicate_parameter_servers=False),
    ("--strategy=replication",): _REPLICATION,
}
_SHAPES = ((1, 0, 1), (4, 1, 5), (7, 2, 3), (10**6, 7, 12), (10**12, 3, 2))

_CLUSTER = {
    "chief": ["c:1"],
    "worker": ["w:1", "w:2"],
    "ps": ["p:1", "p:2"],
}
_STRATEGY_MODULE = """
from adanet import distributed

print("not a part of any plan")

class ByIndex(distributed.RoundRobinStrategy):

  def should_train_subnetworks(self, num_subnetworks):
    print("asked")
    return self.config.global_id_in_cluster % 2 == 1

class Raises(distributed.RoundRobinStrategy):

  def should_build_ensemble(self, num_subnetworks):
    raise KeyError("no such\\nthing")

class Exits(distributed.RoundRobinStrategy):

  def should_build_ensemble(self, num_subnetworks):
    raise SystemExit(0)

class Needs(distributed.RoundRobinStrategy):

  def __init__(self, what):
    pass

class Leaves(distributed.ReplicationStrategy):

  def should_build_ensemble(self, num_subnetworks):
    if self.config.num_worker_replicas != 4:
      raise SystemExit(0)
    return True

class Hangs(distributed.RoundRobinStrategy):

  def should_build_ensemble(self, num_subnetworks):
    import sys, time
    print("hangs", file=sys.stderr, flush=True)
    # Python misses a signal that comes just before a sleep, until its end.
    for _ in range(10**5):
      time.sleep(.01)

not_a_class = Raises()
"""


def _environment(**variables):
  environment = {
      name: value for name, value in os.environ.items()
      if name not in ("TF_CONFIG", "NO_COLOR", "FORCE_COLOR", "COLUMNS",
                      "BUILD_WORKING_DIRECTORY", "PYTHONUNBUFFERED")
  }
  environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
  return dict(environment, **variables)


def _start(args, folder, stdin, variables):
  """Runs the program; returns what `subprocess` calls a `CompletedProcess`."""
  return subprocess.run(
      [sys.executable] + args, cwd=folder, env=_environment(**variables),
      input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      timeout=_TIMEOUT_SECS, check=False)


def _call_main(args, folder, variables, streams):
  """Ends this process as the program would end, with streams of its own."""
  code = 1
  try:
    signal.alarm(_TIMEOUT_SECS)  # Which ends it, as nothing handles that.
    for fd, stream in enumerate(streams):
      os.dup2(stream.fileno(), fd)
    os.chdir(folder)
    environment = _environment(**variables)
    os.environ.clear()
    os.environ.update(environment)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding)
    sys.stdout = open(1, "w", encoding=encoding)
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace")
    code = plan_main.main(args)
    sys.stdout.flush()
  except BaseException:  # pylint: disable=broad-except
    traceback.print_exc()
  finally:
    sys.stderr.flush()
    os._exit(code)  # pylint: disable=protected-access


def _fork(args, folder, stdin, variables):
  """As `_start`, at a tenth of its time: what is imported stays so.

  Args:
    args: list of str, the first of which is the program.
    folder: str, where to run.
    stdin: bytes.
    variables: dict, of the environment.

  Returns:
    A `subprocess.CompletedProcess`.
  """
  with tempfile.TemporaryFile() as stdin_file, \
      tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
    stdin_file.write(stdin)
    stdin_file.seek(0)
    pid = os.fork()
    if not pid:
      _call_main(args, folder, variables, (stdin_file, stdout, stderr))
    _, status = os.waitpid(pid, 0)
    code = (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else
            os.WEXITSTATUS(status))
    stdout.seek(0)
    stderr.seek(0)
    return subprocess.CompletedProcess(args, code, stdout.read(), stderr.read())


def _shape_flags(num_workers, num_ps, num_subnetworks):
  return ["--workers={}".format(num_workers), "--ps={}".format(num_ps),
          "--subnetworks={}".format(num_subnetworks)]


class PlanMainTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def write(self, name, content):
    mode = "wb" if isinstance(content, bytes) else "w"
    with open(os.path.join(self.folder, name), mode) as f:
      f.write(content)

  def run_bytes(self, *args, stdin=b"", run=_fork, **variables):
    """Returns the exit code, standard output and standard error, in bytes."""
    finished = run([_PROGRAM] + list(args), self.folder, stdin, variables)
    return finished.returncode, finished.stdout, finished.stderr.decode("utf-8")

  def run_program(self, *args, **kwargs):
    code, output, errors = self.run_bytes(*args, **kwargs)
    return code, output.decode("utf-8"), errors

  def output(self, *args, **kwargs):
    """Returns the standard output of a run that goes well."""
    code, output, errors = self.run_program(*args, **kwargs)
    self.assertEqual((0, ""), (code, errors))
    return output

  def assert_refused(self, expected, *args, **kwargs):
    """Asserts that a run prints one line and exits with 2."""
    code, output, errors = self.run_program(*args, **kwargs)
    self.assertEqual(2, code, errors)
    self.assertEmpty(output)
    self.assertEqual(1, errors.count("\n"), errors)
    self.assertStartsWith(errors, "adanet-plan: ")
    self.assertIn(expected, errors)
    self.assertLess(len(errors), 1100)


class StartTest(PlanMainTestCase):
  """The other tests fork; this holds what they do to the real program."""

  @parameterized.parameters(
      (["--workers=4", "--ps=2"], 0), (["--tf_config=-"], 0),
      (["--tf_config=cluster.json", "--compare", "--format=json"], 0), ([], 0),
      (["--workers=4", "--drop_remainder", "--strict"], 1),
      (["--workers=0"], 2), (["--strategy=mine:Raises"], 2))
  def test_same_as_forked(self, flags, expected):
    self.write("mine.py", _STRATEGY_MODULE)
    cluster = json.dumps({"cluster": _CLUSTER})
    self.write("cluster.json", cluster)
    args = ["--subnetworks=5"] + flags
    kwargs = {"stdin": cluster.encode("utf-8"), "TF_CONFIG": cluster}
    forked = self.run_bytes(*args, **kwargs)
    self.assertEqual(expected, forked[0])
    self.assertEqual(forked, self.run_bytes(*args, run=_start, **kwargs))

  def test_as_a_module(self):
    finished = _start(
        ["-m", "adanet.distributed.plan.main"] + _shape_flags(4, 2, 5) +
        ["--drop_remainder", "--strict"], self.folder, b"", {})
    self.assertEqual((1, b""), (finished.returncode, finished.stderr))
    self.assertIn(b"No worker trains subnetworks 3, 4.", finished.stdout)


class JsonTest(PlanMainTestCase):

  @parameterized.parameters(*_STRATEGIES.items())
  def test_is_the_plan(self, flags, strategy):
    for shape in _SHAPES:
      output = self.output("--format=json", *_shape_flags(*shape), *flags)
      expected = plan_lib.PlacementPlan(strategy, *shape).to_json_dict()
      # As text, in which 1, 1.0 and True differ, and the order of keys.
      self.assertEqual(json.dumps(expected, indent=2) + "\n", output)

  @parameterized.parameters(
      ((), [_ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION]),
      (("--drop_remainder",), [_DROP_REMAINDER, _ROUND_ROBIN, _REPLICATION]),
      (("--strategy=replication",),
       [_REPLICATION, _ROUND_ROBIN, _DROP_REMAINDER]),
      (("--nodedicate_parameter_servers",),
       [distributed.RoundRobinStrategy(dedicate_parameter_servers=False),
        _ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION]),
  )
  def test_compare(self, flags, strategies):
    for shape in _SHAPES:
      compared = json.loads(self.output(
          "--format=json", "--compare", *_shape_flags(*shape), *flags))
      plans = [plan_lib.PlacementPlan(s, *shape) for s in strategies]
      self.assertEqual(plan_lib.JSON_VERSION, compared.pop("version"))
      self.assertEqual(
          {name: list(values)
           for name, values in plan_lib.compare(plans).items()}, compared)

  def test_a_strategy_of_the_users(self):
    self.write("mine.py", _STRATEGY_MODULE)
    for variables in ({}, {"BUILD_WORKING_DIRECTORY": self.folder}):
      code, output, errors = self.run_program(
          "--format=json", "--strategy=mine:ByIndex", *_shape_flags(4, 2, 3),
          **variables)
      self.assertEqual(0, code)
      value = json.loads(output)
      self.assertEqual("ByIndex()", value["strategy"])
      self.assertEqual(
          [w % 2 == 1 for w in range(4)],
          [g["trains_subnetworks"] for g in value["worker_groups"]])
      self.assertEqual({"not a part of any plan", "asked"},
                       set(errors.splitlines()))

  def test_ps_by_default(self):
    self.assertEqual(0, json.loads(self.output(
        "--format=json", "--workers=3", "--subnetworks=2"))["num_ps"])


class ClusterTest(PlanMainTestCase):

  def shape(self, *args, **kwargs):
    value = json.loads(self.output(
        "--format=json", "--subnetworks=2", *args, **kwargs))
    return value["num_workers"], value["num_ps"]

  @parameterized.parameters(
      (_CLUSTER, (3, 2)),
      ({"chief": ["c:1"]}, (1, 0)),
      ({"master": ["m:1"], "ps": ["p:1"]}, (1, 1)),
      ({"chief": {"0": "c:1"}, "worker": {"1": "w:1", "7": "w:2"}}, (3, 0)),
      (dict(_CLUSTER, evaluator=["e:1"]), (3, 2)),
  )
  def test_of_a_tf_config(self, cluster, expected):
    tasks = [{}] + [{"task": {"type": job, "index": 0}}
                    for job in ("chief", "evaluator", "ps", "of no cluster")]
    for task in tasks:
      self.write("cluster.json", json.dumps(dict(task, cluster=cluster)))
      self.assertEqual(expected, self.shape("--tf_config=cluster.json"))
    text = json.dumps({"cluster": cluster})
    self.assertEqual(expected,
                     self.shape("--tf_config=-", stdin=text.encode("utf-8")))
    self.assertEqual(expected, self.shape(TF_CONFIG=text))

  def test_which_counts(self):
    self.write("cluster.json", json.dumps({"cluster": {"chief": ["c:1"]}}))
    text = json.dumps({"cluster": _CLUSTER})
    self.assertEqual(
        (1, 0), self.shape("--tf_config=cluster.json", TF_CONFIG=text))
    self.assertEqual((7, 1), self.shape("--workers=7", "--ps=1",
                                        TF_CONFIG=text))

  def test_path_under_bazel_run(self):
    self.write("cluster.json", json.dumps({"cluster": _CLUSTER}))
    folder, self.folder = self.folder, self.create_tempdir().full_path
    self.assertEqual((3, 2), self.shape(
        "--tf_config=cluster.json", BUILD_WORKING_DIRECTORY=folder))

  @parameterized.named_parameters(
      ("empty", b"", "must be a JSON object"),
      ("not_json", b"{'cluster': 3}", "line 1 column 2"),
      ("binary", bytes(range(256)), "must be a JSON object: "),
      ("broken_utf_8", b'{"cluster": {"chief": ["\xc3"]}}', "can't decode"),
      ("list", b"[1]", "must be a JSON object, got [1]"),
      ("deep", b"[" * 10**5, "recursion"),
      ("long_number", b"9" * 10**5, "must be a JSON object"),
      ("no_cluster", b'{"task": {"type": "worker"}}', "got none"),
      ("no_chief", b'{"cluster": {"worker": ["w:1"]}}', "['worker']"),
      ("two_chiefs", b'{"cluster": {"chief": ["c:1", "c:2"]}}', "got 2"),
      ("address", b'{"cluster": {"chief": [1]}}', "must be a string, got 1"),
      ("jobs", b'{"cluster": ["chief"]}', "object of jobs"),
      ("surrogate", b'{"cluster": {"chief": ["\\ud800"]}}', "Unicode"),
  )
  def test_bad(self, tf_config, expected):
    self.write("cluster.json", tf_config)
    flags = ["--subnetworks=2", "--tf_config="]
    for name in ("cluster.json", "-"):
      flags[-1] = "--tf_config=" + name
      self.assert_refused(flags[-1] + ": ", *flags, stdin=tf_config)
      self.assert_refused(expected, *flags, stdin=tf_config)
    try:
      variable = tf_config.decode("ascii")
    except UnicodeDecodeError:
      return
    if len(variable) < 10**5:
      self.assert_refused(expected, flags[0], TF_CONFIG=variable)
      self.assert_refused(": TF_CONFIG", flags[0], TF_CONFIG=variable)

  @parameterized.parameters(
      ("nowhere.json", "No such file"), (".", "directory"), ("", "directory"),
      ("/dev/zero", "more than"))
  def test_bad_file(self, path, expected):
    self.assert_refused("--tf_config={}: ".format(path), "--subnetworks=2",
                        "--tf_config=" + path)
    self.assert_refused(expected, "--subnetworks=2", "--tf_config=" + path)


class BadInputTest(PlanMainTestCase):

  @parameterized.parameters(
      (["--workers=0"], "--workers=0: expected an integer of at least 1."),
      (["--workers=-3"], "--workers=-3: expected an integer of at least 1."),
      (["--workers=1.5"], "--workers=1.5: expected an integer"),
      (["--workers=many"], "--workers=many: expected an integer"),
      (["--workers=" + "9" * 5000], "9... expected"),
      (["--workers=9999999999999"], "at most 1000000000000."),
      (["--ps=-1"], "--ps=-1: expected an integer of at least 0."),
      (["--ps=100001"], "at most 100000."),
      (["--subnetworks=0"], "--subnetworks=0: expected an integer"),
      (["--subnetworks=100001"], "at most 100000."),
      (["--workers"], "--workers"),
      (["--format=gif"], "<table|json|svg|png>"),
      (["--compare=perhaps"], "--compare=perhaps: expected true or false."),
      (["--wrokers=3"], "Did you mean: workers"),
      (["three", "four"], "three four: expected flags only"),
      (["--flagfile=nowhere"], "nowhere"),
      (["--strategy=both"], "--strategy=both: expected round_robin, replicat"),
      (["--strategy=:Raises"], "--strategy=:Raises: expected"),
      (["--strategy=replication", "--drop_remainder"],
       "--drop_remainder: expected with --strategy=round_robin only"),
      (["--strategy=replication", "--nodedicate_parameter_servers"],
       "--dedicate_parameter_servers: expected with"),
      (["--tf_config=cluster.json"], "--tf_config=cluster.json: expected with"),
  )
  def test_flags(self, flags, expected):
    self.assert_refused(expected, *_shape_flags(4, 2, 3), *flags)

  @parameterized.parameters(
      ([], "--subnetworks: expected"), (["--workers=3"], "--subnetworks"),
      (["--subnetworks=2"], "no cluster: give --workers and --ps"),
      (["--subnetworks=2", "--ps=1"], "--workers: expected beside --ps=1."))
  def test_missing(self, flags, expected):
    self.assert_refused(expected, *flags)

  @parameterized.parameters(
      ("nowhere:It", "ModuleNotFoundError: No module named 'nowhere'"),
      (".mine:It", "cannot import .mine"),
      ("broken:It", "SyntaxError"),
      ("ends:It", "SystemExit: 0"),
      ("mine:It", "expected a subclass of PlacementStrategy in "),
      ("mine:distributed", "expected a subclass of PlacementStrategy"),
      ("mine:not_a_class", "expected a subclass of PlacementStrategy"),
      ("mine:Needs", "without arguments: TypeError"),
      ("mine:Raises", "asked as each of the workers: KeyError: 'no such\\nth"),
      ("mine:Exits", "asked as each of the workers: SystemExit: 0"),
  )
  def test_strategy(self, name, expected):
    self.write("mine.py", _STRATEGY_MODULE.replace("print(", "str("))
    self.write("broken.py", "1 = = 2")
    self.write("ends.py", "import sys\nsys.exit(0)")
    self.assert_refused(
        expected, "--strategy=" + name, *_shape_flags(4, 2, 3))
    self.assert_refused(
        "--strategy={}: ".format(name), "--strategy=" + name,
        *_shape_flags(4, 2, 3))


  def test_strategy_that_refuses_what_might_mend_it(self):
    self.write("mine.py", _STRATEGY_MODULE.replace("print(", "str("))
    output = self.output("--strategy=mine:Leaves", *_shape_flags(4, 2, 3))
    self.assertIn("Workers 0, 1, 2, 3 build the ensemble, where one is enough. "
                  "It would be mended with RoundRobinStrategy().", output)

  def test_strategy_that_would_be_asked_for_long(self):
    self.write("mine.py", _STRATEGY_MODULE.replace("print(", "str("))
    self.assert_refused(
        "--workers=1000001: expected an integer of at most 1000000 with "
        "--strategy=mine:ByIndex", "--strategy=mine:ByIndex",
        *_shape_flags(10**6 + 1, 2, 3))

  def test_folder_that_is_gone(self):
    self.addCleanup(setattr, self, "folder", self.folder)
    gone = self.folder
    os.mkdir(os.path.join(gone, "gone"))
    self.folder = os.path.join(gone, "gone")
    leave = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], "
    finished = _start(
        ["-c", leave + "sys.argv[1:])", sys.executable, _PROGRAM,
         "--strategy=mine:It"] + _shape_flags(4, 2, 3), self.folder, b"", {})
    self.assertEqual(2, finished.returncode)
    self.assertEqual(
        b"adanet-plan: --strategy=mine:It: cannot import mine: "
        b"FileNotFoundError: [Errno 2] No such file or directory\n",
        finished.stderr)


class ExitTest(PlanMainTestCase):

  @parameterized.parameters(
      ([], 0), (["--drop_remainder"], 0), (["--strict"], 0),
      (["--strict", "--drop_remainder"], 1),
      # The plans beside it have problems; they do not count.
      (["--strict", "--compare"], 0),
      (["--strict", "--compare", "--drop_remainder"], 1),
      (["--strict", "--strategy=replication"], 1))
  def test_strict(self, flags, expected):
    sentences = {
        p.message for strategy in (_DROP_REMAINDER, _REPLICATION)
        for p in plan_lib.PlacementPlan(strategy, 4, 2, 5).problems()}
    code, output, errors = self.run_program(*_shape_flags(4, 2, 5), *flags)
    self.assertEqual((expected, ""), (code, errors))
    self.assertEqual(bool(expected) or "--compare" in flags or
                     "--drop_remainder" in flags,
                     any(sentence in output for sentence in sentences))
    code, output, errors = self.run_program(
        *_shape_flags(4, 2, 5), "--format=json", *flags)
    self.assertEqual(expected, code)
    self.assertIn("version", json.loads(output))
    self.assertLen(errors.splitlines(), expected)
    if expected:
      self.assertIn(errors[len("adanet-plan: --strict: "):-1], sentences)

  @parameterized.parameters("--help", "-h", "-help")
  def test_help(self, flag):
    output = self.output(flag)
    for name in ("workers", "ps", "subnetworks", "tf_config", "strategy",
                 "[no]drop_remainder", "[no]dedicate_parameter_servers",
                 "format", "[no]compare", "[no]strict"):
      self.assertRegex(output, r"(?m)^  --{}: .".format(re.escape(name)))
    for other in ("verbosity", "logtostderr", "flagfile", "plan_main"):
      self.assertNotIn(other, output)
    self.assertLessEqual(max(map(len, output.splitlines())), 80)

  def start(self, *args, **kwargs):
    return subprocess.Popen(
        [sys.executable, _PROGRAM] + list(args), cwd=self.folder,
        env=_environment(), stderr=subprocess.PIPE, **kwargs)

  def test_nobody_reads(self):
    for output_format in ("table", "json"):
      read, write = os.pipe()
      os.close(read)
      process = self.start(*_shape_flags(4, 2, 3), "--format=" + output_format,
                           stdout=write)
      os.close(write)
      _, errors = process.communicate(timeout=_TIMEOUT_SECS)
      self.assertEqual((-signal.SIGPIPE, b""), (process.returncode, errors))

  def test_full_disk(self):
    for flags in (["--format=json"], ["--format=table"], ["--help"]):
      with open("/dev/full", "w") as full:
        process = self.start(*_shape_flags(4, 2, 3), *flags, stdout=full)
        _, errors = process.communicate(timeout=_TIMEOUT_SECS)
      self.assertEqual(2, process.returncode)
      self.assertEqual(
          b"adanet-plan: standard output: No space left on device.\n", errors)

  def test_full_standard_error(self):
    for flags, expected in (
        (["--workers=0"], 2),
        (["--drop_remainder", "--strict", "--format=json"], 1)):
      with open("/dev/full", "w") as full:
        finished = subprocess.run(
            [sys.executable, _PROGRAM] + _shape_flags(4, 2, 5) + flags,
            env=_environment(), cwd=self.folder, stdout=subprocess.PIPE,
            stderr=full, timeout=_TIMEOUT_SECS, check=False)
      self.assertEqual(expected, finished.returncode)

  def test_no_standard_output(self):
    process = self.start(*_shape_flags(4, 2, 3),
                         preexec_fn=lambda: os.close(1))
    _, errors = process.communicate(timeout=_TIMEOUT_SECS)
    self.assertEqual((2, b"adanet-plan: standard output is closed.\n"),
                     (process.returncode, errors))

  def test_ctrl_c(self):
    self.write("mine.py", _STRATEGY_MODULE)
    process = self.start(
        *_shape_flags(4, 2, 3), "--strategy=mine:Hangs",
        # A shell starts what it puts in the background with this one ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    self.addCleanup(process.kill)
    while process.stderr.readline() != b"hangs\n":
      self.assertIsNone(process.poll())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=_TIMEOUT_SECS)
    self.assertEqual((130, b""), (process.returncode, errors))


class TableTest(PlanMainTestCase):

  def in_terminal(self, *args, columns=80, **variables):
    """Returns what a run prints to a terminal."""
    main, terminal = pty.openpty()
    self.addCleanup(os.close, main)
    process = subprocess.Popen(
        [sys.executable, _PROGRAM] + list(args), cwd=self.folder,
        env=_environment(TERM="xterm-256color", COLUMNS=str(columns),
                         PYTHONIOENCODING="utf-8", **variables),
        stdout=terminal, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    os.close(terminal)
    self.addCleanup(process.kill)
    output = b""
    deadline = time.monotonic() + _TIMEOUT_SECS
    while time.monotonic() < deadline:
      if not select.select([main], [], [], 1)[0]:
        continue
      try:
        output += os.read(main, 2**16)
      except OSError:  # The program has ended.
        break
    _, self.terminal_errors = process.communicate(timeout=_TIMEOUT_SECS)
    self.terminal_code = process.returncode
    return output.decode("utf-8")

  def test_terminal(self):
    output = self.in_terminal(*_shape_flags(4, 2, 3))
    self.assertEqual(0, self.terminal_code, self.terminal_errors)
    self.assertIn("\033[", output)
    self.assertIn("│ 0, 1, 2, ensemble │", output)
    self.assertIn("No problems.", output)

  def test_terminal_without_color(self):
    output = self.in_terminal(*_shape_flags(4, 2, 5), "--compare", NO_COLOR="1")
    self.assertEqual(0, self.terminal_code, self.terminal_errors)
    self.assertNotRegex(output, "\033\\[[0-9;]*3[0-7]")

  def test_narrow_terminal(self):
    for flags in ([], ["--compare"]):
      output = self.in_terminal(*_shape_flags(9, 2, 5), *flags, columns=40)
      self.assertEqual(0, self.terminal_code, self.terminal_errors)
      for line in re.sub("\033\\[[0-9;]*m", "", output).splitlines():
        self.assertLessEqual(len(line), 40)

  def test_terminal_of_no_width(self):
    output = self.in_terminal(*_shape_flags(4, 2, 3), columns=0)
    self.assertIn("│ 0, 1, 2, ensemble │", output)

  def test_no_png_in_a_terminal(self):
    self.in_terminal(*_shape_flags(4, 2, 3), "--format=png")
    self.assertEqual(2, self.terminal_code)
    self.assertEqual(
        b"adanet-plan: --format=png: expected standard output to be no "
        b"terminal: add > plan.png\n", self.terminal_errors)

  @parameterized.parameters(*_SHAPES)
  def test_piped(self, *shape):
    for flags, strategy in _STRATEGIES.items():
      for compare in ([], ["--compare"]):
        output = self.output(*_shape_flags(*shape), *flags, *compare)
        self.assertNotIn("\033", output)
        self.assertNotRegex(output, "[┃│━]")
        lines = output.splitlines()
        self.assertLess(len(lines), 100)
        plan = plan_lib.PlacementPlan(strategy, *shape)
        prefix = plan.strategy + ": " if compare else ""
        for problem in plan.problems():
          self.assertIn(prefix + problem.message, lines)
        if not compare:
          # Of whose tables there are tests beside it.
          expected = io.StringIO()
          plan_table.show(plan, rich_console.Console(file=expected))
          self.assertEqual(expected.getvalue(), output)

  def test_output_in_ascii(self):
    self.write("mine.py", """
from adanet import distributed
class It(distributed.RoundRobinStrategy):
  def __repr__(self):
    return "\\u00c9toile[red]"
""")
    output = self.output(*_shape_flags(4, 2, 3), "--strategy=mine:It",
                         PYTHONIOENCODING="ascii")
    self.assertStartsWith(output, "\\xc9toile[red]: 4 workers")


class PictureTest(PlanMainTestCase):

  @parameterized.parameters("svg", "png")
  def test_is_that_of_the_plans(self, picture_format):
    shape = (4, 2, 5)
    for flags, strategies in (
        ([], [_ROUND_ROBIN]), (["--drop_remainder"], [_DROP_REMAINDER]),
        (["--compare"], [_ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION])):
      code, output, errors = self.run_bytes(
          "--format=" + picture_format, *_shape_flags(*shape), *flags,
          run=_fork if flags else _start)
      self.assertEqual((0, ""), (code, errors))
      expected = io.BytesIO()
      plan_picture.write(
          [plan_lib.PlacementPlan(s, *shape) for s in strategies], expected,
          picture_format)
      self.assertEqual(expected.getvalue(), output)

  def test_strict(self):
    code, output, errors = self.run_bytes(
        "--format=png", "--strict", "--drop_remainder", *_shape_flags(4, 2, 5))
    self.assertEqual(1, code)
    self.assertStartsWith(output, b"\x89PNG")
    self.assertIn("--strict: No worker trains subnetworks 3, 4.", errors)

  def test_too_many_workers(self):
    self.assert_refused(
        "--workers=10000001: expected an integer of at most 10000000 with "
        "--format=svg.", "--format=svg", *_shape_flags(10**7 + 1, 2, 5))

  @parameterized.parameters(
      ("matplotlib", "svg", "Matplotlib: pip install "
       "'adanet-distributed[plot]'\n"),
      ("rich", "table", "Rich: pip install rich\n"))
  def test_without(self, package, output_format, expected):
    self.write(package + ".py",
               "raise ModuleNotFoundError(name='{}')".format(package))
    self.assert_refused(
        "--format={}: needs {}".format(output_format, expected),
        "--format=" + output_format, *_shape_flags(4, 2, 5), run=_start,
        PYTHONPATH=os.pathsep.join([self.folder] + sys.path))


class ImportsTest(PlanMainTestCase):

  @parameterized.parameters(
      ("--help", ["numpy", "rich", "matplotlib"]),
      ("--format=json", ["rich", "matplotlib"]),
      ("--format=table", ["matplotlib"]))
  def test_imports_no_more_than_it_needs(self, flag, unused):
    program = """if True:
        import sys
        from adanet.distributed.plan import main as plan_main
        code = plan_main.main(sys.argv)
        print(sorted({name.partition(".")[0] for name in sys.modules}),
              file=sys.stderr)
        sys.exit(code)
        """
    finished = subprocess.run(
        [sys.executable, "-c", program, flag] + _shape_flags(4, 2, 3),
        env=_environment(TF_CONFIG=json.dumps({"cluster": _CLUSTER})),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        timeout=_TIMEOUT_SECS, check=True)
    self.assertIn("'absl'", finished.stderr)
    for name in unused + ["tensorflow", "tensorflow_core", "tf_keras"]:
      self.assertNotIn("'{}'".format(name), finished.stderr)


if __name__ == "__main__":
  absltest.main()
