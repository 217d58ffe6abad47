"""The audit of a trace of any size: which pieces it has, what each task looks at, and how the answers add up.

Whoever runs the tasks: this process (`tocsin check`) or Spark (`tocsin audit`). Nothing here needs Spark.
"""
