"""Views of a tree for people: as text (``text.py``; ``folding.py`` chooses what a bounded view shows), and pictures.

Stands among the outlets: everything here reads a finished tree, or what was found out about one. In the order of
reading: ``text.py`` is the front; ``layout.py`` puts the lines of ``lines.py`` (conditions by ``speech.py``) beside the
numbers of ``counts.py`` and the small bars of ``bars.py``, within a width where one is given.

``picture/`` draws the tree itself (SVG, PNG, PDF). Pictures of matplotlib stand on ``palette.py`` (colours, those of
all pictures) and ``paper.py`` (axes, text, files): regions over two columns in ``regions``, curves and charts in
``plots``.
"""
