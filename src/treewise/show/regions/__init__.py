"""Decision regions over two columns."""
