"""Shared helpers without knowledge of trees: text, random numbers, result tables, threads, interruptible calls."""
