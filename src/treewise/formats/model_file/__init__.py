"""The model file: JSON with a checksum, written atomically, validated on load."""
