"""What audits compute, as pure numpy and pyarrow functions: no session, no file, no clock.

`encode` turns Arrow rows into the logs of sites. `scan` looks at one piece of a log by itself, and `certify` puts
the answers of all pieces together: a run in which everything is in order is proven so from them alone. `solve`
decides every property exactly, over all logs of a run or over a slice of its messages.
"""
