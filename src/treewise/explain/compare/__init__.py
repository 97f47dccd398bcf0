"""Compare two trees exactly (`tw.compare`)."""
