"""Decision regions of models over two columns."""
