#!/bin/sh
# Compiles the mypyc unit beside its sources, if there is a C compiler; without one, the sources run as they are.
set -eu
if [ "${TOCSIN_PURE:-0}" = 1 ]; then
    echo "TOCSIN_PURE=1: not compiled; the sources run interpreted"
    exit 0
fi
compiler="${CC:-cc}" # perhaps behind another command: ccache gcc
if ! command -v "${compiler%% *}" >/dev/null 2>&1; then
    echo "no C compiler: not compiled; everything works, simulations take about five times as long"
    exit 0
fi
echo "compiling core, planning, protocols, sim and the inner loop of live with mypyc"
find src -name '*.so' -delete
rm -rf build/lib* # modules that are gone from the tree would go into a wheel
mkdir -p build
if TOCSIN_COMPILE=1 .venv/bin/python setup.py -q build_ext --inplace >build/compile.log 2>&1; then
    find src -name '*.so' -exec touch {} +
else
    tail -n 20 build/compile.log >&2
    find src -name '*.so' -delete
    echo "compilation failed (build/compile.log); the sources run interpreted" >&2
    exit 1
fi
