"""How stable the structure of a tree is under resampling (`tw.stability`)."""
