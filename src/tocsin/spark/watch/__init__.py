"""`tocsin watch`: the audit as a Structured Streaming query over all members' rows."""
