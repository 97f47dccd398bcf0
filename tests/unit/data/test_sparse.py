"""Sparse matrices: the trees and predictions of the dense ones, with only the tested columns made dense."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import treewise as tw
from treewise import ForestClassifier, TreeClassifier, TreeRegressor
from treewise.data import sparse
from treewise.errors import DataError

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]
RNG = np.random.default_rng(3)
DENSE = RNG.integers(-2, 3, (200, 30)) * (RNG.random((200, 30)) < 0.1) * 0.5
Y = (DENSE[:, 4] + DENSE[:, 7] > 0).astype(int)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_every_format_gives_the_dense_tree(form, container, dtype):
    dense = (DENSE * 2).astype(dtype)
    matrix = container(dense).asformat(form)
    assert tw.grow(matrix, Y) == tw.grow(dense, Y)
    model = TreeClassifier().fit(matrix, Y)
    assert model.tree_ == TreeClassifier().fit(dense, Y).tree_
    assert np.array_equal(model.predict(matrix), model.predict(dense))
    assert np.array_equal(model.tree_.predict(matrix), model.tree_.predict(dense))


@given(
    arrays(np.float64, (12, 3), elements=st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])),
    st.sampled_from(FORMATS[:3]),
)
def test_missing_and_infinite_values(dense, form):
    y = np.arange(12) % 3
    matrix = scipy.sparse.csr_array(dense).asformat(form)
    assert TreeRegressor().fit(matrix, y).tree_ == TreeRegressor().fit(dense, y).tree_


def test_entries_that_are_stored_twice_are_added_and_the_matrix_stays_as_it_is():
    matrix = scipy.sparse.csc_array((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(3, 1))
    table = tw.read(matrix)
    assert table["x1"].values.tolist() == [3.0, 3.0, 0.0]
    assert matrix.nnz == 3


def test_a_forest():
    matrix = scipy.sparse.csr_array(DENSE)
    forest = ForestClassifier(5, oob_score=False).fit(matrix, Y)
    assert forest.ensemble_ == ForestClassifier(5).fit(DENSE, Y).ensemble_
    assert np.array_equal(forest.predict_proba(matrix), forest.predict_proba(DENSE))


def test_a_prediction_makes_only_the_tested_columns_dense(monkeypatch):
    wide = scipy.sparse.random_array((50, 3000), density=0.01, rng=np.random.default_rng(0), format="csr")
    target = (wide[:, [7]].toarray().ravel() > 0).astype(int)
    target[:3] = 1 - target[:3]
    model = TreeClassifier(max_depth=2).fit(wide, target)
    columns_read = []
    read = sparse.SparseColumns.read
    monkeypatch.setattr(sparse.SparseColumns, "read", lambda self, j: columns_read.append(j) or read(self, j))
    model.predict(wide)
    assert set(columns_read) == set(model.tree_.used_columns)


def test_the_limit_is_stated(monkeypatch):
    monkeypatch.setattr(sparse, "available_memory", lambda: 200 * 8 * 20)
    with pytest.raises(DataError, match=r"X is sparse, and the columns .* become dense: all 30 take .* GB, of which"):
        TreeClassifier().fit(scipy.sparse.csr_array(DENSE), Y)
    narrow = scipy.sparse.csr_array(DENSE[:, :9])
    assert TreeClassifier().fit(narrow, Y).score(narrow, Y) == 1.0


def test_names_of_columns():
    table = tw.read(scipy.sparse.csr_array(DENSE[:, :2]), columns=["a", "b"])
    assert list(table.columns) == ["a", "b"]
