"""Formats a model is stored in or exported to: the model file, the text format, exports."""
