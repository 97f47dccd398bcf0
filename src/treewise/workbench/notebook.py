"""The workbench in a notebook: the same module and session, with messages of the kernel in place of requests."""

from __future__ import annotations

from typing import Any, ClassVar

import anywidget
import traitlets

from treewise.edit.editor import Editor
from treewise.tree.tree import Tree
from treewise.workbench.module import module_text, style_text
from treewise.workbench.session import Session, describe_fault


class Workbench(anywidget.AnyWidget):  # type: ignore[misc]  # untyped without the extra
    """The return value of ``tw.explore``, displayed by notebooks; ``editor`` and ``tree`` are those on the page.

    Edits made in Python appear on the page, and edits made on the page in Python.
    """

    _esm: ClassVar[str] = module_text()
    _css: ClassVar[str] = style_text()
    home = traitlets.Unicode("notebook").tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__(state=session.state())
        self._session = session
        self.on_msg(self._answer)
        self.editor.on_change.append(self._show)

    @property
    def editor(self) -> Editor:
        """The editor of the page."""
        return self._session.editor

    @property
    def tree(self) -> Tree:
        """The current tree."""
        return self._session.editor.tree

    def _show(self) -> None:
        self.state = self._session.state()

    def _answer(self, _: Any, message: Any, __: Any = None) -> None:
        """Answer a message of the page; a kernel hides errors of such calls, so they become answers."""
        try:
            answer = self._session.handle(message)
            state = answer.pop("state", None)
            if state is not None:
                self.state = state
        except Exception as error:
            answer = describe_fault(error)
        self.send({"id": message.get("id") if isinstance(message, dict) else None, "answer": answer})
