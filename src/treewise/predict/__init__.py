"""Prediction with one tree: rows to leaves to answers, leaf probabilities, confidence intervals, misclassification costs."""
