"""Views of a tree for people: text, pictures, charts, regions and reports. Everything here reads a finished model.

text_tree/      ``print(tree)`` and ``tree.show()``
picture/        ``tree.draw``: the tree as SVG, PNG or PDF
plots/          charts of results: SVG of our own, or on matplotlib axes
regions/        ``draw_regions``: decision regions over two columns
report/         ``tree.report``: one HTML file
summary.py      ``tree.summary()``, ``ensemble.summary()``
notebook.py     how notebooks display a tree
node_stats.py   statistics of nodes that several views share
palette.py      colours of all pictures; mpl_helpers.py, figure.py: axes, labels and files of charts
"""
