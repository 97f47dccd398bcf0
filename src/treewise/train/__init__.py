"""Training: settings, criteria, the prepared training set, candidate splits, the reference search, `grow`."""
