"""Error as a function of one parameter (`tw.curve`)."""
