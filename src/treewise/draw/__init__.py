"""Pictures of a tree for people: as text (``text.py``; ``folding.py`` chooses what a bounded view shows).

Stands among the outlets: everything here reads a finished tree and returns text. In the order of reading:
``text.py`` is the front; ``layout.py`` puts the lines of ``lines.py`` (conditions by ``speech.py``) beside the
numbers of ``counts.py``, within a width where one is given.
"""
