"""A tree as rules, one per leaf (`tree.rules`)."""
