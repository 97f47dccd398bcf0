"""A tree beside baseline models on the same folds."""
