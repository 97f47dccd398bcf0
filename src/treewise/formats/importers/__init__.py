"""Importers: trees of scikit-learn, LightGBM and XGBoost as ordinary models."""
