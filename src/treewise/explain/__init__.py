"""Explain models: how a tree was grown, why a row gets its prediction, and how far to trust either.

trace/, stump.py                 the computations behind every split
row_explanation/, shap.py        one prediction: path, counterfactual, Shapley values
rules.py, subgroups/             a tree as rules; nodes that differ from the rest
stability/, compare/             the tree under resampling; two trees compared exactly
distill/, ensemble/              one tree for a larger model; the agreement of many trees
"""
