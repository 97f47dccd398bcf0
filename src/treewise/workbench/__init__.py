"""The workbench: a page on which a person and the editor grow a tree together.

session.py   what the page asks and what it is told; autosave
opening.py   the tree and tables that a session begins with
module.py    the page: one module in AFM form and its style, drawn by the report's code (assets/)
server.py    the page on loopback (extra ``web``)
notebook.py  the page in a notebook (extra ``notebook``); ``tw.explore``
lesson/      a page for students, without a session: ``tw.lesson``
"""
