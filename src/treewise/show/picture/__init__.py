"""A tree as a picture: SVG of our own making; PNG and PDF of the same scene.

Stands among the outlets; ``tree.draw`` is its door. In the order of reading:

    front.py      what may be asked for, and the picture that is returned
    choice.py     which nodes are shown
    cards.py      what each box says (histograms.py: of the rows of a table)
    plan.py       where everything stands (tidy.py: who stands beside whom; letters.py: how wide text is)
    compose.py    the scene (heading.py: what stands above it; scene.py: what a scene is; inks.py: how areas are filled)
    svg.py        the scene as SVG; press.py as PNG or PDF
"""
