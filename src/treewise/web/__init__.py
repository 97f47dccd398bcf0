"""Servers: the prediction service, and the access checks of everything that listens on a port (extra ``web``)."""
