"""Measure how often printed intervals and p-values hold what they promise, by simulation.

    python -m benchmarks.coverage [PART ...] [--tables N]

One file per part. A part is a function that takes a number of simulated tables and yields ``Measured`` lines; ``PARTS``
in ``parts.py`` lists them. A nominal 95 % interval passes with 92 to 97 %, a p-value below 0.05 in at most 6 %.
"""
