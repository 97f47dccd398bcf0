"""SQL: the dialects, the query that predicts, and a dbt package around it."""
