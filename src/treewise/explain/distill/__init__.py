"""Train a tree to imitate any teacher model (`tw.distill`)."""
