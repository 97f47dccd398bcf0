"""Helpers for tests of matplotlib figures."""


def all_texts(ax):
    """Return every text of a picture as it will be seen."""
    from matplotlib.text import Text

    ax.figure.draw_without_rendering()
    actual = []
    for text in ax.figure.findobj(Text):
        shown, formula = text._preprocess_math(text.get_text())
        assert not formula, text
        actual.append(shown)
    return " ".join(actual)
