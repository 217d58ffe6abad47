"""Traces, the one schema of what happened: rows (`rows`), in memory (`buffer`), and in files (`schema`, `files`, `reader`,
`writer`: the parts that need Arrow)."""
