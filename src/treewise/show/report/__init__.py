"""The report: one offline HTML page."""
