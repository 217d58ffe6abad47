"""What each paper says, and what came out: a file a paper."""
