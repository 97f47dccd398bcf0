"""How a model is worded for readers: labels of classes, names and units of columns, readable numbers.

A ``Display`` is part of a model and of its file, and changes no prediction. ``apply_display(model)`` returns the model
with other words: its classes are the labels, its columns have the display names, and its encodings write numbers for
readers (``Encoding.style``). Text, pictures, rules and the report are made of that model and need no code of their
own; predictions, exports and files are made of the model itself, with exact values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from treewise._lib.text import safe
from treewise.data.encoding import Encoding, NumberStyle
from treewise.errors import ColumnError, Param, ParameterError, brief, did_you_mean, join_few
from treewise.tree.history import HistoryStep

if TYPE_CHECKING:
    from treewise.tree.arrays import Label
    from treewise.tree.model import Model

    SomeModel = TypeVar("SomeModel", bound=Model)

_BY_CLASS = ("cost", "class_weight", "priors")  # options in a history that name classes …
_BY_COLUMN = ("splits", "sample_weight", "groups", "time", "exposure")  # … and columns …
_SETTINGS_BY_COLUMN = ("monotone", "feature_costs", "interactions")  # … also among its settings


@dataclass(frozen=True)
class Display:
    """The words of a model for readers; ``Model.with_display`` makes one.

    >>> import treewise as tw
    >>> tree = tw.grow("xor", max_depth=1).with_display(labels={0: "no", 1: "yes"}, display_names={"x1": "switch"})
    >>> tree.display.label(1), tree.display.name("x1"), tree.display.name("x2")
    ('yes', 'switch', 'x2')
    """

    labels: Mapping[Label, str] = field(default_factory=dict)  # class → text
    names: Mapping[str, str] = field(default_factory=dict)  # column (or target) → text
    units: Mapping[str, str] = field(default_factory=dict)  # column (or target) → unit
    is_applied: bool = field(default=False, compare=False)  # on the model that ``apply_display`` returns

    def label(self, cls: Label) -> Label:
        """Return the text for a class; the class itself if it has none."""
        return self.labels.get(cls, cls)

    def name(self, column: str) -> str:
        """Return the text for a column; its name if it has none."""
        return self.names.get(column, column)

    def target_name(self, target: str) -> str:
        """Return the text for the target, with its unit."""
        unit = self.units.get(target)
        return f"{self.name(target)} ({unit})" if unit else self.name(target)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the labels by the text of the class."""
        return {
            "labels": {str(cls): label for cls, label in self.labels.items()},
            "names": dict(self.names),
            "units": dict(self.units),
        }


def make_display(model: Model, labels: Any = None, names: Any = None, units: Any = None) -> Display:
    """Check the words against the model they are for.

    >>> import treewise as tw
    >>> make_display(tw.grow("xor"), labels={2: "yes"})
    Traceback (most recent call last):
    treewise.errors.ParameterError: labels names the class 2; the classes are 0, 1.
    """
    texts = _read_words(model, "display_names", names), _read_words(model, "units", units)
    display = Display(_read_labels(model, labels), texts[0], texts[1])
    _check_unique([str(display.label(cls)) for cls in model.classes], "labels")
    _check_unique([display.name(column) for column in (*model.columns, model.target.name)], "display_names")
    return display


def _read_words(model: Model, parameter: str, given: Any) -> dict[str, str]:
    """Read words for columns."""
    known = (*model.columns, model.target.name)
    words = _check_mapping(parameter, given)
    for column in words:
        if column not in known:
            columns = join_few([safe(name) for name in known])
            raise ColumnError(
                f'{Param(parameter)} names the column "{safe(column)}", which the model does not have.',
                hint=f"{did_you_mean(str(column), known)} Its columns: {columns}.",
                column=str(column),
            )
    return words


def _read_labels(model: Model, given: Any) -> dict[Label, str]:
    """Read labels of classes, which may be named by their text."""
    words, by_text = _check_mapping("labels", given), {str(cls): cls for cls in model.classes}
    if words and not model.classes:
        raise ParameterError("the model predicts numbers, which have no classes.", parameter="labels", value=given)
    labels = {}
    for cls, label in words.items():
        if str(cls) not in by_text:
            known = join_few([safe(name) for name in by_text])
            raise ParameterError(
                Param("labels") + f" names the class {safe(cls)}; the classes are {known}.",
                hint=did_you_mean(str(cls), by_text),
            )
        labels[by_text[str(cls)]] = label
    return labels


def _check_mapping(parameter: str, given: Any) -> dict[Any, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError("must be a dict of names and texts.", parameter=parameter, value=given)
    for key, text in given.items():
        if not isinstance(text, str) or not text.strip():
            raise ParameterError(f"{Param(parameter)} of {safe(key)} is {brief(text)}: it must be a text.")
    return dict(given)


def _check_unique(texts: list[str], parameter: str) -> None:
    twice = next((text for i, text in enumerate(texts) if text in texts[:i]), None)
    if twice is not None:
        raise ParameterError(f'two of them would be called "{safe(twice)}".', parameter=parameter)


# -- the model in these words -----------------------------------------------------------------------------------------


def apply_display(model: SomeModel) -> SomeModel:
    """Return the model with its display applied; the model itself if it has none."""
    display = model.display
    if display is None or display.is_applied:
        return model
    changes: dict[str, Any] = {
        "encodings": tuple(_displayed_encoding(encoding, display) for encoding in model.encodings),
        "target": replace(
            model.target,
            name=display.target_name(model.target.name),
            classes=tuple(display.label(cls) for cls in model.classes),
        ),
        "history": tuple(_displayed_step(step, display) for step in model.history),
        "display": replace(display, is_applied=True),
    }
    if hasattr(model, "quartiles"):
        changes["quartiles"] = {display.name(name): quartiles for name, quartiles in model.quartiles.items()}
    return model.with_(**changes)


def _displayed_encoding(encoding: Encoding, display: Display) -> Encoding:
    style = NumberStyle(safe(display.units.get(encoding.name, "")))  # a number with its unit is printed as it is
    return replace(encoding, name=display.name(encoding.name), style=style)


def _displayed_step(step: Mapping[str, Any], display: Display) -> Mapping[str, Any]:
    """Return a step of the history with the labels and names in options that name classes and columns."""
    labels = {str(cls): label for cls, label in display.labels.items()}
    changed = {name: _classes_reworded(step[name], labels) for name in _BY_CLASS if step.get(name) is not None}
    changed |= {name: _reworded(step[name], display.names) for name in _BY_COLUMN if step.get(name) is not None}
    if isinstance(settings := step.get("settings"), Mapping):
        words = {name: _reworded(settings[name], display.names) for name in _SETTINGS_BY_COLUMN if name in settings}
        changed["settings"] = {**settings, **words}
    return HistoryStep({**step, **changed})


def _classes_reworded(value: Any, labels: Mapping[str, str]) -> Any:
    """Replace the classes that are keys; a text such as "balanced" is none."""
    return _reworded(value, labels) if isinstance(value, Mapping) else value


def _reworded(value: Any, words: Mapping[str, str]) -> Any:
    """Replace words that are a text, in a list, or a key at any depth; what a key is given is no name."""
    if isinstance(value, Mapping):
        return {
            words.get(str(key), key): _reworded(part, words) if isinstance(part, Mapping) else part
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_reworded(part, words) for part in value]
    return words.get(value, value) if isinstance(value, str) else value


def class_of_label(model: Model, given: Any) -> Any:
    """Return the class that is displayed by a label; anything else as it is.

    >>> import treewise as tw
    >>> class_of_label(tw.grow("xor").with_display(labels={1: "yes"}), "yes")
    1
    """
    labels = {} if model.display is None or model.display.is_applied else model.display.labels
    known = {str(cls) for cls in model.classes}
    return given if str(given) in known else next((cls for cls, label in labels.items() if label == given), given)
