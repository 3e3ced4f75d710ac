# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the input_fns of arrays and data frames.

`tf.estimator.inputs`, where it exists, must read the same.
"""

import pickle
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import inputs
from adanet import tf_compat
from adanet.testing import level
import numpy as np

_X = np.arange(10.).reshape(5, 2)
_WORDS = np.array(["a", "bb", "\u00e9", "d", "e"])
_DICT = {"x": _X, "word": _WORDS, "object": _WORDS.astype(object),
         "bytes": np.array([b"1", b"2", b"3", b"4", b"5"]),
         "small": np.arange(5, dtype=np.uint8), "is": np.arange(5) > 2}
_Y = np.arange(5)

# What is read without shuffling.
_READS = (
    ("array", dict(x=_X, batch_size=2)),
    ("labels", dict(x=_X, y=_Y, batch_size=2)),
    ("epochs", dict(x=_X, y=_Y, batch_size=3, num_epochs=2)),
    ("types", dict(x=_DICT, y=_Y, batch_size=5)),
    ("larger_batch", dict(x=_DICT, batch_size=12, num_epochs=3)),
    ("two_dicts", dict(x=_DICT, y={"a": _Y, "b": _X}, batch_size=4)),
    ("no_end", dict(x={"x": _X}, y=_Y, batch_size=2, num_epochs=None)),
    ("no_end_of_larger_batches",
     dict(x={"x": _X}, y=_Y, batch_size=7, num_epochs=None)),
)

_MANY = np.arange(12345., 22345.)  # Would be long in a message.


class _Series:
  """Stands for a `pandas.Series`."""

  def __init__(self, values, index=None):
    self._values = np.asarray(values)
    self.index = np.arange(len(values)) if index is None else np.array(index)

  iloc = None  # By which pandas is known.

  def __array__(self, dtype=None, copy=None):
    return np.array(self._values, dtype)

  def copy(self):
    return _Series(self._values.copy(), self.index)


class _Frame:
  """Stands for a `pandas.DataFrame`."""

  def __init__(self, values, index=None, columns=None):
    self._values = values
    self.columns = list(values) if columns is None else columns
    rows = len(values[self.columns[0]]) if self.columns else 0
    self.index = np.arange(rows) if index is None else np.array(index)

  iloc = None

  def __array__(self, dtype=None, copy=None):
    return np.stack([self._values[name] for name in self.columns], 1)

  def __getitem__(self, name):
    return _Series(self._values[name], self.index)

  def copy(self):
    return _Frame({name: np.copy(values) for name, values in
                   self._values.items()}, self.index, self.columns)


def _read(input_fn, count=5, **arguments):
  """Returns the first batches of an input_fn."""
  v1 = tf_compat.v1
  batches = []
  with v1.Graph().as_default(), v1.Session() as session:
    batch = input_fn(**arguments)
    if isinstance(batch, tf_compat.v2.data.Dataset):
      iterator = v1.data.make_initializable_iterator(batch)
      session.run(iterator.initializer)
      batch = iterator.get_next()
    session.run(v1.local_variables_initializer())  # Count TensorFlow's epochs.
    coordinator = v1.train.Coordinator()
    threads = v1.train.start_queue_runners(session, coordinator)
    try:
      while len(batches) < count:
        batches.append(session.run(batch))
    except v1.errors.OutOfRangeError:
      pass
    coordinator.request_stop()
    coordinator.join(threads, ignore_live_threads=True)
  return batches


def _shapes(input_fn):
  """Returns the types and static shapes of what an input_fn reads."""
  v1 = tf_compat.v1
  with v1.Graph().as_default():
    batch = input_fn()
    if isinstance(batch, tf_compat.v2.data.Dataset):
      batch = v1.data.make_initializable_iterator(batch).get_next()
    return [(tensor.dtype.name, tensor.shape.as_list())
            for tensor in v1.nest.flatten(batch)]


def _labels(input_fn, count=5, **arguments):
  return [labels.tolist()
          for _, labels in _read(input_fn, count, **arguments)]


class NumpyTest(parameterized.TestCase):

  def _assert_equal(self, expected, actual):
    nest = tf_compat.v1.nest
    nest.assert_same_structure(expected, actual)
    for expected_array, actual_array in zip(
        nest.flatten(expected), nest.flatten(actual)):
      self.assertEqual(expected_array.dtype, actual_array.dtype)
      np.testing.assert_array_equal(expected_array, actual_array)

  @parameterized.named_parameters(*_READS)
  def test_reads(self, arguments):
    x, y = arguments["x"], arguments.get("y")
    batch_size = arguments["batch_size"]
    num_epochs = arguments.get("num_epochs", 1)

    def rows(value, start):
      if isinstance(value, dict):
        return {name: rows(item, start) for name, item in value.items()}
      end = start + batch_size
      if num_epochs is not None:
        end = min(end, 5 * num_epochs)
      expected = value[np.arange(start, end) % 5]
      if expected.dtype.kind == "U":
        return np.array([word.encode("utf-8") for word in expected], object)
      if expected.dtype.kind in "SO":
        return np.array([word if isinstance(word, bytes) else word.encode(
            "utf-8") for word in expected], object)
      return expected

    batches = _read(inputs.numpy_input_fn(shuffle=False, **arguments))
    count = 5 if num_epochs is None else -(-5 * num_epochs // batch_size)
    self.assertLen(batches, count)
    for number, batch in enumerate(batches):
      start = number * batch_size
      expected = rows(x, start)
      self._assert_equal(
          expected if y is None else (expected, rows(y, start)), batch)

  @parameterized.named_parameters(*_READS)
  def test_reads_as_tensorflow_does(self, arguments):
    library = getattr(tf_compat.v1, "estimator", None)
    if library is None:
      self.skipTest("This TensorFlow has no tf.estimator.")
    arguments = dict(arguments, shuffle=False)
    if isinstance(arguments["x"], dict):  # Which takes words as objects alone.
      arguments["x"] = {
          name: array.astype(object) if array.dtype.kind in "US" else array
          for name, array in arguments["x"].items()}
    theirs = library.inputs.numpy_input_fn(**arguments)
    ours = inputs.numpy_input_fn(**arguments)
    self.assertEqual(_shapes(theirs), _shapes(ours))
    expected = _read(theirs)
    actual = _read(ours)
    self.assertEqual(len(expected), len(actual))
    for expected_batch, actual_batch in zip(expected, actual):
      self._assert_equal(expected_batch, actual_batch)

  def test_shuffles_each_epoch_in_another_way(self):
    rows = np.arange(1000)
    input_fn = inputs.numpy_input_fn(rows, rows, 250, None, True, seed=3)
    batches = _labels(input_fn, 8)
    epochs = [sum(batches[:4], []), sum(batches[4:], [])]
    for epoch in epochs:
      self.assertCountEqual(rows, epoch)
      self.assertNotEqual(rows.tolist(), epoch)
    self.assertNotEqual(*epochs)
    self.assertEqual(batches, _labels(input_fn, 8))  # As there is a seed.
    # A config may have one.
    input_fn = inputs.numpy_input_fn(rows, rows, 250, shuffle=True)
    self.assertNotEqual(_labels(input_fn), _labels(input_fn))
    config = types.SimpleNamespace(tf_random_seed=3)
    self.assertEqual(
        batches[:4], _labels(input_fn, 8, config=config))

  @parameterized.parameters(
      ({"seed": 3}, None, True), ({}, 3, True), ({}, None, False),
      ({"shuffle": False}, None, True))
  def test_order_in_the_input_fn_of_a_user(self, arguments, graph_seed,
                                           is_known):
    input_fn = inputs.numpy_input_fn(
        np.arange(1000), np.arange(1000), 250, **{"shuffle": True, **arguments})
    orders, names = [], []
    for _ in range(2):
      with tf_compat.v1.Graph().as_default() as graph:
        tf_compat.v1.set_random_seed(graph_seed)
        labels = tf_compat.v1.data.make_one_shot_iterator(
            input_fn()).get_next()[1]
        with tf_compat.v1.Session() as session:
          orders.append(session.run(labels).tolist())
        names.append("shuffle_without_seed" in str(graph.as_graph_def()))
    self.assertEqual(is_known, orders[0] == orders[1])
    # By the name, a resumed training warns.
    self.assertEqual([not is_known] * 2, names)

  def test_numpy_counts_do_not_overflow(self):
    rows = np.zeros([1000], np.int8)
    input_fn = inputs.numpy_input_fn(
        rows, rows, np.uint8(100), np.int16(100), shuffle=False)
    self.assertLen(_labels(input_fn, 2000), 1000)

  def test_workers_divide_the_rows(self):
    context = tf_compat.v1.distribute.InputContext
    rows = np.arange(7)
    for workers in (3, 9):
      input_fn = inputs.numpy_input_fn(rows, rows, 100, shuffle=False)
      by_worker = [_labels(input_fn, input_context=context(workers, i))[0]
                   for i in range(workers)]
      self.assertCountEqual(rows, sum(by_worker[:7], []))
      # What is left has no row of its own.
      self.assertEqual([rows.tolist()] * (workers - len(by_worker[:7])),
                       by_worker[7:])

  @parameterized.parameters(level.first([
      ({"shuffle": True}, {"tf_random_seed": None, "model_dir": "m"}),
      ({"shuffle": True}, {"tf_random_seed": 3, "model_dir": "m"}),
      ({"shuffle": False}, {}), ({"shuffle": True, "seed": 3}, {})]))
  def test_workers_read_all_rows_without_end(self, arguments, config):
    rows = np.arange(12)
    input_fn = inputs.numpy_input_fn(rows, rows, 4, None, **arguments)
    by_worker = [sum(_labels(
        input_fn, 6, config=types.SimpleNamespace(**config),
        input_context=tf_compat.v1.distribute.InputContext(3, i)), [])
                 for i in range(3)]
    for labels in by_worker:
      self.assertCountEqual(rows, labels[:12])
      self.assertCountEqual(rows, labels[12:])
    # As soon as all workers together have read so many.
    self.assertCountEqual(rows, sum((labels[:4] for labels in by_worker), []))
    self.assertCountEqual(
        rows, sum((labels[12:16] for labels in by_worker), []))

  def test_data_is_not_in_the_graph(self):
    rows = np.zeros([100000, 10])
    with tf_compat.v1.Graph().as_default() as graph:
      inputs.numpy_input_fn(rows, rows, shuffle=True)()
      self.assertLess(graph.as_graph_def().ByteSize(), 10000)

  def test_can_be_pickled(self):
    input_fn = inputs.numpy_input_fn(_DICT, _Y, shuffle=True, seed=1)
    self._assert_equal(
        _read(input_fn), _read(pickle.loads(pickle.dumps(input_fn))))

  @parameterized.parameters(
      (dict(shuffle=None), ValueError, "^shuffle=None: expected True or False"),
      (dict(shuffle=_MANY), ValueError, "^shuffle=a value of type ndarray: exp"),
      (dict(batch_size=0), ValueError, "^batch_size=0: expected an integer of"),
      (dict(num_epochs=-1), ValueError, "^num_epochs=-1: expected an integer"),
      (dict(seed="a"), TypeError, "^seed='a': expected an integer in .0, "),
      (dict(x=[1, 2]), TypeError, r"^x is \[1, 2\]: expected a Num"),
      (dict(x=None), TypeError, "^x is None: expected a NumPy array"),
      (dict(x=_Frame({"a": _MANY})), TypeError, "^x is .*Frame: use pandas_"),
      (dict(x={"a": [1]}), TypeError, r"^x\['a'\] is \[1\]: expected a Num"),
      (dict(x={}), ValueError, "^x is an empty dict: expected an array"),
      (dict(y={}), ValueError, "^y is an empty dict: expected an array"),
      (dict(x=np.array(3)), ValueError, "^x is a single value: expected a row"),
      (dict(x=np.zeros([0, 3])), ValueError, "^x has no rows"),
      (dict(x={"a": _MANY, "b": _Y}), ValueError,
       r"^x\['a'\] has 10000 rows and x\['b'\] has 5: expected as many in ea"),
      (dict(y=_Y), ValueError, "^x has 10000 rows and y has 5: expected as m"),
      (dict(x={"a": _Y}, y={"a": _Y}), ValueError, "^x and y both have the na"),
      (dict(x=np.array(["a", None])), ValueError,
       "^x is an array of objects, and value 1 is None: expected text in all"),
      (dict(x=np.ma.masked_less(_MANY, 13000)), ValueError,
       "^x has masked values: give them a value"))
  def test_bad_argument(self, arguments, kind, message):
    arguments = dict({"x": _MANY, "shuffle": False}, **arguments)
    with self.assertRaisesRegex(kind, message) as caught:
      inputs.numpy_input_fn(**arguments)
    self.assertNotRegex(str(caught.exception), "\n|1234|2000")

  def test_type_that_tensorflow_does_not_have(self):
    days = np.zeros([3], "datetime64[D]")
    with self.assertRaisesRegex(
        TypeError, r"^x\['day'\] has the type datetime64\[D\], which Tensor"):
      inputs.numpy_input_fn({"day": days}, shuffle=False)()


class PandasTest(parameterized.TestCase):
  """Of classes that stand for those of pandas, which is not needed here."""

  def setUp(self):
    super().setUp()
    self._x = _Frame({"a": np.arange(5), "b": _WORDS.astype(object)})

  def test_reads(self):
    values = np.arange(5) * 2.
    input_fn = inputs.pandas_input_fn(
        self._x, _Series(values), batch_size=3, shuffle=False)
    values[:] = -1  # It has a copy.
    (features, labels), (rest, _) = _read(input_fn)
    self.assertEqual([0, 1, 2], features["a"].tolist())
    self.assertEqual([b"d", b"e"], rest["b"].tolist())
    self.assertEqual([0, 2, 4], labels.tolist())

  def test_reads_several_labels(self):
    labels = _Frame({"a": np.arange(5) * 3, "c": np.arange(5)})
    input_fn = inputs.pandas_input_fn(
        self._x, labels, batch_size=5, num_epochs=None, shuffle=True, seed=1)
    for features, labels_batch in _read(input_fn, 3):
      self.assertEqual((features["a"] * 3).tolist(), labels_batch["a"].tolist())
      self.assertEqual(features["a"].tolist(), labels_batch["c"].tolist())

  def test_reads_no_labels(self):
    features, = _read(inputs.pandas_input_fn(self._x, shuffle=False))
    self.assertCountEqual(["a", "b"], features)

  @parameterized.parameters(
      (dict(x=_MANY), TypeError, "^x is a value of type ndarray: expected a Da"),
      (dict(y=_MANY), TypeError, "^y is a value of type ndarray: expected a Se"),
      (dict(y=_Series(_Y, [1, 2, 3, 4, 5])), ValueError,
       "^y does not have the index of x: expected the same labels"),
      (dict(target_column="a"), ValueError, "^target_column='a': x has a col"),
      (dict(target_column=3), TypeError, "^target_column is 3: expected a str"),
      (dict(x=_Frame({"a": _Y}, columns=["a", "a"])), ValueError,
       "^x has the column 'a' 2 times: rename them"),
      (dict(x=_Frame({"a": np.array([1, "b", None, 4, 5], object)})),
       ValueError, r"^x\['a'\] is an array of objects, and value 0 is 1: exp"))
  def test_bad_argument(self, arguments, kind, message):
    arguments = dict(
        {"x": self._x, "y": _Series(_Y), "shuffle": False}, **arguments)
    with self.assertRaisesRegex(kind, message) as caught:
      inputs.pandas_input_fn(**arguments)
    self.assertNotRegex(str(caught.exception), "\n|1234|2000")


if __name__ == "__main__":
  absltest.main()
