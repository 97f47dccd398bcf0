"""The text tree behind ``print(tree)`` and ``tree.show()``."""
