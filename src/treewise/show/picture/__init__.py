"""Pictures of trees: SVG written directly; PNG and PDF of the same scene by matplotlib. ``tree.draw`` is the entry.

picture.py         parameters of ``draw``, and the ``Picture`` it returns
node_selection.py  which nodes are shown
node_boxes.py      the content of each box (histograms.py: charts of the rows of a table)
layout.py          positions of boxes, labels and edges
build_scene.py     the scene: heading, boxes, edges (scene.py: shapes, fills, text widths)
render.py          the scene as SVG, PNG or PDF
tikz.py            the tree in TikZ, for the LaTeX package forest
compose.py         scenes side by side, and fitted to a size; panels.py: a table and code beside a tree
steps.py           ``tree.draw_steps``: growth and pruning step by step; steps_page.py, plane_scene.py: as a page
"""
