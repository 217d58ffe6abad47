"""Groups as tables and streams of Spark: `format("tocsin")` (docs/spark-streams.md).

`options` is what a user says, `columns` what a row is, `members` whose folders are read, `ranges` what is read of them;
`source` is what Spark calls. Nothing here starts a session.
"""
