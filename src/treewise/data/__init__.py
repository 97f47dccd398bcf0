"""Input data: files and dataframes become a `Table` of `Column`s; an `Encoding` says what each column is."""
