"""The tree itself: splits, node arrays, the `Tree` class, the history of a model, regions of nodes."""
