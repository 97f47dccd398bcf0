"""Engines that run exports: one file each, registered in ``registry.py``."""
