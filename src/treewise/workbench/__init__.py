"""The workbench: a page on which a person and the editor grow a tree together.

session.py   what the page asks and what it is told; autosave
server.py    the page on loopback (extra ``web``)
assets/      the page: one module in AFM form, drawn by the report's code
"""
