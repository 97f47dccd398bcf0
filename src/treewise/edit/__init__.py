"""Growing a tree together with a person: the editor, and the workbench that shows it."""
