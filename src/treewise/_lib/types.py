"""Names that several packages share, without anything heavy to import."""

# How a categorical column may be split: ``categorical=`` for all columns, or a column's entry in ``kinds``.
SPLIT_KINDS = ("subset", "multiway", "one_value", "ordinal", "any")
