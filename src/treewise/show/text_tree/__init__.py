"""The text tree: `print(tree)`."""
