#!/bin/sh
# Makes .venv and installs exactly what requirements.lock names. Safe to interrupt: the next call goes on.
set -eu
python="$1"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "tocsin: Python 3.11 or newer is needed, found $("$python" --version 2>&1 || echo none);" \
        "install it, or name it: make PYTHON=/path/to/python3.11" >&2
    exit 3
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || {
    echo "tocsin: Python's venv module is missing; on Debian: apt-get install python3-venv" >&2
    exit 3
}
[ -x .venv/bin/pip ] || { echo "making .venv"; rm -rf .venv; "$python" -m venv .venv; }
echo "installing from requirements.lock (a few minutes the first time)"
# PySpark comes as a source archive: its build tools first, pinned like the rest, then no isolated downloads.
awk '/^(setuptools|wheel|packaging)==/{on=1} on{print} on&&!/\\$/{on=0}' requirements.lock >.venv/build-tools.lock
.venv/bin/pip install -q --disable-pip-version-check --require-hashes --no-deps -r .venv/build-tools.lock
.venv/bin/pip install -q --disable-pip-version-check --require-hashes --no-deps --no-build-isolation -r requirements.lock
.venv/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
.venv/bin/python -m tocsin.spark.java
