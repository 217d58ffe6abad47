"""What a sweep's cell may compute besides one simulation of a scenario: a folder of experiments, a file a paper."""
