"""Exercises with key and check: a sheet of blanks built from a trace, rounds of AdaBoost or a pruning, and its marking.

table ──topics (split, leaves, boosting, pruning)──▶ Exercise ──▶ HTML, LaTeX, Markdown, Moodle XML, JSON
                                                       │ blanks
                                           answers ──▶ marking ──▶ Marks
"""
