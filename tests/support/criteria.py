"""The criteria that there are, from the registry: a new one is tested wherever a test is for all of them."""

from treewise.train.criteria import CRITERIA

CLASSIFICATION = tuple(c.name for c in CRITERIA.values() if c.task == "classification")
REGRESSION = tuple(c.name for c in CRITERIA.values() if c.task == "regression")
# Those of the engines: absolute_error is always scored exactly, on presorted columns.
WITH_ENGINES = tuple(name for name in (*CLASSIFICATION, *REGRESSION) if name != "absolute_error")
