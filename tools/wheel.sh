#!/bin/sh
# Builds a wheel and a source archive into dist/ (or the folder named). Compiled where there is a C compiler, by the
# objects of the last `make setup` if they are current; otherwise a pure wheel, which says so in `tocsin --version`.
set -eu
out="${1:-dist}"
python="${PYTHON:-.venv/bin/python}"

build() { # wheel or sdist, compiled or not
    program="import sys, setuptools.build_meta as backend; backend.build_$1(sys.argv[1])"
    if ! TOCSIN_COMPILE="$2" "$python" -c "$program" "$out" >build/"$1".log 2>&1; then
        tail -n 20 build/"$1".log >&2
        echo "the $1 was not built (build/$1.log)" >&2
        exit 1
    fi
}

mkdir -p build "$out"
rm -f "$out"/tocsin-*.whl "$out"/tocsin-*.tar.gz
compiled=1
compiler="${CC:-cc}" # perhaps behind another command: ccache gcc
if [ "${TOCSIN_PURE:-0}" = 1 ] || ! command -v "${compiler%% *}" >/dev/null 2>&1; then
    echo "no C compiler, or TOCSIN_PURE=1: a pure wheel, which runs anywhere, and more slowly"
    compiled=0
    rm -rf build/lib*
fi
# Of earlier builds only the compiled modules are used again: a source may have gone from the tree since.
find build -path 'build/lib*' -type f ! -name '*.so' -delete
# Of those, what has no source any more, or belongs to another unit than the one beside the sources, goes too.
find build -path 'build/lib*' -name '*.so' | while read -r object; do
    name="${object#build/lib*/}"
    case "$name" in
    *__mypyc.*) [ -e "src/$name" ] || rm "$object" ;;
    *) [ -e "src/${name%%.*}.py" ] || rm "$object" ;;
    esac
done
build wheel "$compiled"
build sdist 0
ls "$out"/tocsin-*
