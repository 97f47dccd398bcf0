"""Validation curves: training and validation error over one parameter, ``treewise.curve``."""
