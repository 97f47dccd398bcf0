"""Prediction: rows to leaves to answers, leaf probabilities, confidence intervals, misclassification costs."""
