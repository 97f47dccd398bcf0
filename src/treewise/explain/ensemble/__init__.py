"""Interpret an ensemble: agreement of its trees, explanation of a prediction, and errors by number of trees."""
