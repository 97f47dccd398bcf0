"""Lessons: a student grows a tree on a page that knows every computation beforehand, and works without a server.

situations.py   the nodes that can be reached, with their tests and arithmetic, within a budget
best_trees.py   for every size, what the greedy tree and the best tree get wrong
lesson.py       ``treewise.lesson``: both together, and the grade of a tree
page.py         the page: one HTML file, drawn by the report's code and assets/lesson.js
"""
