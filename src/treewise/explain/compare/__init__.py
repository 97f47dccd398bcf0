"""Compare two trees exactly (`tw.compare`): are they equivalent, and if not, where do they differ?"""
