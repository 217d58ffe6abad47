#!/bin/sh
# Resolves pyproject.toml for all platforms into requirements.lock: versions and hashes, no download addresses. Needs uv.
set -eu
uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --extra spark --extra dev pyproject.toml -o requirements.lock
