"""Everything that grows with the user's data, on Spark: sweeps and audits.

`kernels/` holds pure numpy and pyarrow functions, tested without a JVM; the other files carry them to where the data
is. Only `session.py` starts Spark, so that importing any other file of this folder needs nothing but pyarrow.
"""
