# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data frames of pandas: which columns become what, and how models train."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.ensemble_search import data as data_lib
from adanet.testing import engines
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pandas as pd

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_ROWS, _HELD_OUT = 96, 32
_R = np.random.RandomState(0)
_CITIES = ["Genève", "Köln", "?"]
_FRAME = pd.DataFrame({
    "weight": _R.randn(_ROWS),
    "age": _R.randint(1, 9, _ROWS),
    "city": _R.choice(_CITIES, _ROWS),
    "kind": pd.Series(_R.choice(["a", "b"], _ROWS), dtype="category"),
    "rank": pd.Series(_R.randint(1, 4, _ROWS), dtype="Int64"),
    "owns": pd.Series(_R.rand(_ROWS) > .5, dtype="boolean"),
}, index=_R.permutation(_ROWS))
_Y = _FRAME["weight"] + _FRAME["age"] * (_FRAME["city"] == "Köln")
# What Keras is given without pandas.
_ARRAYS = {
    "weight": _FRAME["weight"].to_numpy(),
    "age": _FRAME["age"].to_numpy(),
    "city": np.array(_FRAME["city"].tolist(), object),
    "kind": np.array(_FRAME["kind"].tolist(), object),
    "rank": np.array(_FRAME["rank"].tolist(), "int64"),
    "owns": np.array(_FRAME["owns"].tolist(), "bool"),
}


def _inputs(**types):
  return {name: keras.Input([1], name=name, dtype=dtype)
          for name, dtype in types.items()}


def _float(tensor):
  return keras.ops.cast(tensor, "float32")


def _make_all():
  inputs = _inputs(weight="float32", age="float32", city="string",
                   kind="string", rank="int64", owns="bool")
  lookups = [L.StringLookup(vocabulary=vocabulary, output_mode="one_hot")(
      inputs[name]) for name, vocabulary in (("city", _CITIES[:2]),
                                             ("kind", ["a", "b"]))]
  joined = L.Concatenate()([
      L.Normalization(axis=None, mean=4., variance=4.)(inputs["age"]), *lookups,
      inputs["weight"], _float(inputs["rank"]), _float(inputs["owns"])])
  hidden = L.Dense(4, "tanh", kernel_initializer=keras.initializers.Orthogonal(
      seed=1))(joined)
  return keras.Model(inputs, L.Dense(1, kernel_initializer="ones")(hidden))


def _make_some():
  inputs = list(_inputs(weight="float32", age="float32").values())
  return keras.Model(inputs, L.Dense(1)(L.Concatenate()(inputs)))


def _make(types):
  inputs = _inputs(**types)
  return keras.Model(inputs, L.Dense(1)(L.Concatenate()(
      list(map(_float, inputs.values())) * 2)))


def _make_flat():
  return keras.Sequential([L.Dense(1, kernel_initializer="ones")])


class DataFrame:
  """Stands for a frame of polars, which is not among the packages of tests.

  polars 2.1 has these attributes, and iterates over the columns.
  """
  __module__ = "polars.dataframe.frame"
  columns = ["city", "age"]

  def __array__(self, dtype=None, copy=None):
    return np.array([["Bern", 1], ["Chur", 2]], object)


class ColumnsTest(parameterized.TestCase):

  @parameterized.parameters(
      ([1, 2], "int64", "int64"),
      ([1., None], "float64", "float64"),
      ([1, 2], "Int8", "int8"),
      ([1.5, None], "Float32", "float32"),
      ([True, False], "boolean", "bool"),
      (["a", ""], "str", "object"),
      (["a", "ä"], "string", "object"),
      (["a", "b"], "object", "object"),
      (["b", "a"], "category", "object"),
      ([7, 5], "category", "int64"),
      ([.5, None], "category", "float64"),
      ([0., 1.], "Sparse[float64]", "float64"))
  def test_types(self, values, dtype, expected):
    array, = adanet.columns(pd.DataFrame({
        "a": pd.Series(values, dtype=dtype)})).values()
    self.assertEqual((expected, (2,)), (array.dtype.name, array.shape))
    np.testing.assert_array_equal(
        np.array(values, expected) if expected != "object" else values, array)

  @hypothesis.settings(max_examples=20)
  @hypothesis.given(
      st.sampled_from([("int64", "Int64", st.integers(-2**62, 2**62)),
                       ("float64", "Float64", st.floats(allow_nan=False)),
                       ("bool", "boolean", st.booleans()),
                       # pandas 2 takes "\0" for "" in categories.
                       ("object", "string", st.text(st.characters(
                           exclude_categories=["Cs"],
                           exclude_characters="\0")))]),
      st.data())
  def test_a_type_changes_no_value(self, kinds, data):
    plain, nullable, values = kinds
    column = pd.Series(data.draw(st.lists(values, min_size=1)), dtype=plain)
    arrays = adanet.columns(pd.DataFrame({
        "plain": column, "nullable": column.astype(nullable),
        "category": column.astype("category")}))
    for array in arrays.values():
      self.assertEqual(plain, array.dtype.name)
      np.testing.assert_array_equal(column.to_numpy(), array)

  @parameterized.parameters(
      (pd.Series(["2026-01-01"], dtype="datetime64[ns]"), TypeError,
       r"the type datetime64\[ns\]: .*frame\['a'\].dt.dayofyear"),
      (pd.to_timedelta(pd.Series([1])), TypeError,
       r"the type timedelta64\[ns\]: .*total_seconds"),
      (pd.Series([b"a"]), TypeError, "the type bytes: .*decode"),
      (pd.Series([1, "a"], dtype=object), TypeError, "the type int: .*astype"),
      (pd.cut(pd.Series([1, 2]), 2), TypeError, "the type Interval: .*astype"),
      (pd.Series(["a", None, "b", None]), ValueError,
       r"missing values in 2 of 4 rows: .*fillna\(\"missing"),
      (pd.Series(["a", None], dtype="category"), ValueError,
       r"missing values in 1 of 2 .*astype\(object\).fillna"),
      (pd.Series([1, None], dtype="Int64"), ValueError,
       "missing values in 1 of 2 .*float32"),
      (pd.Series([True, None], dtype="boolean"), ValueError, "missing values"),
      (pd.Series([True, None, False]), ValueError,
       r"missing values in 1 of 3 rows: .*convert_dtypes\(\)\.astype"),
      (pd.Series([1, pd.NA], dtype=object), ValueError, "missing values in 1"),
      (pd.Series([1, "a", None]), ValueError,
       r"missing values in 1 of 3 rows: .*fillna\(\"missing\"\).astype\(str"),
      (pd.Series([b"a", np.nan]), ValueError, "missing values in 1 of 2 rows"),
      (pd.Series([True, False], dtype=object), TypeError,
       "objects of the type bool: .*infer_objects"))
  def test_mistakes_in_a_column(self, column, error, words):
    with self.assertRaisesRegex(error, rf"^frame\['a'\] has .*{words}"):
      adanet.columns(pd.DataFrame({"a": column}))

  @parameterized.parameters(
      ("city", ["a", None], 'fillna\\("missing'),
      ("rank", pd.Series([1, None], dtype="Int64"), "float32"),
      ("owns", [True, None, False], "convert_dtypes"),
      ("size", pd.Series([1, pd.NA], dtype=object), "convert_dtypes"),
      ("mixed", [1, "a", None], "fillna"),
      ("right", pd.Series([True, False], dtype=object), "infer_objects"),
      ("when", pd.Series(["2026-01-01"] * 2, dtype="datetime64[ns]"), "dayof"),
      ("bin", pd.cut(pd.Series([1, 2]), 2), "astype\\(str\\)"))
  def test_the_advice_helps(self, name, values, words):
    frame = pd.DataFrame({name: values})
    with self.assertRaisesRegex((TypeError, ValueError), words) as caught:
      adanet.columns(frame)
    *_, advice = str(caught.exception).rpartition("Give for example ")
    advice = advice.split(", in which")[0].rpartition(" or ")[2].rstrip(".")
    column = eval(advice)  # pylint: disable=eval-used
    adanet.columns(frame.assign(**{name: column}))

  @parameterized.parameters(
      (pd.DataFrame([[1, 2]]), ValueError, "a column named 0: .*rename"),
      (DataFrame(), TypeError, r"pandas.DataFrame. For polars, give {column.na"
       r"me: column\.to_numpy\(\) for column in frame}\.$"),
      (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "name once"),
      ({"a": [1]}, TypeError, "^frame is {'a': .*pandas.DataFrame"),
      (pd.Series([1]), TypeError, "^frame is "))
  def test_mistakes(self, frame, error, words):
    with self.assertRaisesRegex(error, words):
      adanet.columns(frame)


class FitTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _fit(self, models, x, y=_Y, **fit):
    search = adanet.EnsembleSearch(
        models, "mse", directory=self._folder, seed=1)
    return search.fit(x, y, **{"epochs": 1, "verbose": 0, **fit})

  @parameterized.named_parameters(level.first([
      ("columns", _make_all, _FRAME, _ARRAYS),
      # Booleans beside floats are numbers.
      ("booleans", _make_flat,
       _FRAME[["weight", "owns"]].astype({"owns": "bool"}), np.stack(
           [_ARRAYS["weight"], _ARRAYS["owns"]], 1).astype("float32")),
      ("nullable", _make_flat, _FRAME[["rank", "age"]], np.stack(
          [_ARRAYS["rank"], _ARRAYS["age"]], 1))]))
  def test_equals_keras(self, make, frame, arrays):
    select = lambda rows: keras.tree.map_structure(
        lambda array: array[rows], arrays)
    held_out = frame[-_HELD_OUT:], _Y[-_HELD_OUT:]
    search = self._fit({"a": make}, frame, validation_data=held_out)
    np.testing.assert_allclose(held_out[1], search.held_out.labels, 1e-6)
    order = data_lib.split_data(frame, _Y, 32, held_out, .2, None, None, None, 1
                             )[0][0].order(0)
    model = make()
    model.compile("adam", "mse")
    model.fit(select(order), _Y.to_numpy()[order], epochs=1, shuffle=False,
              verbose=0)
    for value, expected in zip(
        search.network("a").get_weights(), model.get_weights()):
      np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(
        model.predict(arrays, verbose=0), search.network("a").predict(
            arrays, verbose=0))

  @level.gate
  def test_from_fit_to_a_served_model(self):
    models = {"all": _make_all, "some": _make_some}
    for _ in range(2):  # A resume trains nothing.
      search = self._fit(models, _FRAME, folds=3, epochs=2)
    self.assertLen(search.history.networks, 6)
    predicted = search.model.predict(adanet.columns(_FRAME), verbose=0)
    path = os.path.join(self._folder, "model")
    search.model.save(path + ".keras")
    np.testing.assert_array_equal(predicted, keras.models.load_model(
        path + ".keras").predict(_ARRAYS, verbose=0))
    search.model.export(path, verbose=False)
    served = tf.saved_model.load(path)
    np.testing.assert_allclose(
        predicted, served.serve(adanet.columns(_FRAME)), 1e-5)
    again = adanet.EnsembleSearch(models, directory=self._folder)
    np.testing.assert_array_equal(
        predicted, again.model.predict(_ARRAYS, verbose=0))
    frame = _FRAME.reset_index(drop=True)
    frame.loc[5, "city"] = "Bonn"
    with self.assertRaisesRegex(ValueError, "x has other values"):
      self._fit(models, frame, _Y.to_numpy(), folds=3, epochs=2)

  @level.gate
  def test_in_processes(self):
    lookup = L.StringLookup(output_mode="one_hot")
    lookup.adapt(_ARRAYS["city"])
    space = keras.utils.FeatureSpace({
        "weight": "float_normalized", "city": "string_categorical"})
    space.adapt(tf.data.Dataset.from_tensor_slices({
        name: _ARRAYS[name] for name in ("weight", "city")}).batch(32))

    def look_up():
      inputs = _inputs(weight="float32", city="string")
      return keras.Model(inputs, L.Dense(1)(L.Concatenate()(
          [inputs["weight"], lookup(inputs["city"])])))

    def encode():
      return keras.Model(dict(space.get_inputs()), L.Dense(1)(
          space.get_encoded_features()))

    models = {"look_up": look_up, "encode": encode}
    frame = _FRAME[["weight", "city"]]
    with engines.process_pool(1) as executor:
      search = self._fit(models, frame, executor=executor)
    self._folder = self.create_tempdir().full_path
    for value, expected in zip(search.model.get_weights(), self._fit(
        models, frame).model.get_weights()):
      np.testing.assert_array_equal(value, expected)

  @parameterized.named_parameters(
      # Keras would do something wrong without an error.
      ("more", {"weight": "float32", "age": "int64"}, _FRAME,
       r"^models\['a'\] has no input for city, kind, owns and 1 more of x"),
      # Keras says what is wrong.
      ("matrix", {"weight": "float32", "age": "int64"},
       _FRAME[["weight", "age"]],
       r"^models\['a'\]: .*expects 2 named input\(s\) .* received 1 input"),
      ("text", {"weight": "float32", "city": "float32"},
       _FRAME[["weight", "city"]],
       r"^models\['a'\]: .*Cast string to float is not supported"),
      ("numbers", {"age": "string"}, adanet.columns(_FRAME[["age"]]),
       r"^models\['a'\]: .*Cast int64 to string is not supported"))
  def test_models_of_other_columns(self, types, x, words):
    with self.assertRaisesRegex(ValueError, words):
      self._fit({"a": lambda: _make(types)}, x)

  def test_an_input_for_each_number(self):
    self._fit({"a": lambda: _make({"age": "int64", "weight": "float32"})},
              adanet.columns(_FRAME[["weight", "age"]]))

  @parameterized.named_parameters(
      ("type", {"validation_data": (_FRAME.assign(city=1), _Y)}, ValueError,
       r"^models\['all'\]: .*Cast int64 to string is not supported"),
      ("names", {"validation_data": (_FRAME[["age", "city"]], _Y)}, ValueError,
       r"^validation_data\[0\] has the columns age, city, and x weight, age"),
      ("index", {"y": _Y[::-1]}, ValueError,
       "^y and x have 96 of 96 labels of their index in common, in another o"),
      ("other_rows", {"y": _Y.rename({0: 99, 1: 98})}, ValueError,
       "^y and x have 94 of 96 labels of their index in common, in another o"),
      ("index_of_an_input", {
          "x": {"c": _FRAME["age"]}, "y": {"a": _Y[::-1]}}, ValueError,
       r"^y\['a'\] and x\['c'\] have 96 of 96 labels of their index in"),
      ("index_of_labels", {
          "x": _ARRAYS, "y": {"a": _Y, "b": _Y[::-1]}}, ValueError,
       r"^y\['b'\] and y\['a'\] have 96 of 96 labels of their index in"),
      ("index_of_weights", {"x": _ARRAYS, "sample_weight": _Y[::-1]},
       ValueError, "^sample_weight and y have 96 of 96 labels of their index"),
      ("held_out_index", {
          "validation_data": (_FRAME, _Y.to_numpy(), _Y[::-1])}, ValueError,
       r"^validation_data\[2\] and validation_data\[0\] have 96 of 96 labels"),
      ("names_of_labels", {
          "y": _FRAME[["age", "rank"]],
          "validation_data": (_FRAME, _FRAME[["rank", "age"]])}, ValueError,
       r"^validation_data\[1\] has the columns rank, age, and y age, rank"),
      ("labels", {"y": _FRAME}, TypeError,
       "^y has the type object, which Keras does not take: Give numbers"),
      ("series", {"x": dict(_FRAME)}, TypeError,
       r"^x\['city'\] has text, .*columns\("),
      ("missing", {"x": _FRAME.assign(kind=None)}, ValueError,
       r"^x\['kind'\] has missing values in 96 of 96 rows"),
      ("missing_bools", {"x": _FRAME.assign(owns=[True, None] * 48)},
       ValueError, r"^x\['owns'\] has missing values in 48 of 96 rows"),
      ("missing_in_series", {"x": {
          "owns": pd.Series([True, None] * 48)}, "y": _Y.to_numpy()},
       ValueError, r"^x\['owns'\] has missing values in 48 of 96 rows"),
      ("missing_in_array", {"x": np.array([[1, None]] * 96, object)},
       ValueError, "^x has missing values in 96 of 96 rows: .* Fill"),
      ("missing_weights", {"sample_weight": pd.DataFrame(
          {"a": [1, None] * 48}, _FRAME.index, dtype=object)},
       ValueError, "^sample_weight has missing values in 48 of 96 rows"),
      ("polars", {"x": DataFrame()}, TypeError, "^x has .*does not take: For "
       r"polars, give {column.name: column.to_numpy\(\) for column in x}\.$"),
      ("missing_labels", {"y": pd.Series([True, None] * 48, _FRAME.index)},
       ValueError,
       "^y has missing values in 48 of 96 rows: .* leave out these rows"),
      ("missing_text_labels", {"y": np.array(["a", None] * 48, object)},
       ValueError, "^y has missing values in 48 of 96 rows"))
  def test_mistakes(self, arguments, error, words):
    with self.assertRaisesRegex(error, words):
      self._fit({"all": _make_all}, **{"x": _FRAME, **arguments})

  def test_labels(self):
    """A single column may have any name, and several are one array."""
    self._fit({"all": _make_all}, _FRAME, _Y.to_frame("a"),
              validation_data=(_FRAME, _Y.to_frame("b")))
    self._folder = self.create_tempdir().full_path
    search = self._fit({"a": lambda: keras.Sequential([L.Dense(3)])},
                       _FRAME[["age"]], pd.get_dummies(_FRAME["city"]))
    self.assertEqual((None, 3), search.model.output.shape)

  def test_sequential_has_one_input(self):
    with self.assertRaisesRegex(
        ValueError, r"^models\['a'\]: .*expects 1 input\(s\), but it received 6"
        " input tensors"):
      self._fit({"a": lambda: keras.Sequential([L.Dense(1)])}, _FRAME)
    # Keras gives all arrays to a first layer that takes several.
    self._fit({"a": lambda: keras.Sequential([L.Concatenate(), L.Dense(1)])},
              [_FRAME[["weight"]], _FRAME[["age"]]])

  def test_other_indexes_count_by_position(self):
    # A default index has some labels of any numbering.
    frame = _FRAME.set_axis(_FRAME.index + 50)
    for index in (np.arange(_ROWS), np.arange(_ROWS) + 1000):
      self._fit({"all": _make_all}, frame, pd.Series(_Y.to_numpy(), index))


if __name__ == "__main__":
  absltest.main()
