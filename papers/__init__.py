"""The five papers, reproduced: one folder a paper, each with its experiments, grids, claims, drawings and tests.

Not shipped with the package: `tocsin reproduce` works from a checkout. `common/` has what all papers share.
"""
