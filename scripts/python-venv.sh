#!/bin/sh
# Makes .venv in the project's root: Python with the published client libraries that some tests use.
# Safe to call again at any time, also several times at once; quick when nothing is to be done.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
packages='keepty==0.1.1 pyte==0.8.2 msgpack==1.1.2 aiortc==1.16.0 aioice==0.13.0'
# Lists what is installed; a change of the list above makes it anew.
stamp=$venv/switchboard-packages

current() {
    [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ] && "$venv/bin/python" -c 'import keepty, pyte, msgpack, aiortc' 2>/dev/null
}

current && exit 0

# Of several at once one does the work and the others find it done.
exec 9<"$root/scripts/python-venv.sh"
flock 9
current && exit 0

if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    if command -v apt-get >/dev/null; then
        $as_root apt-get update -q
        $as_root apt-get install -y -q python3-venv
    else
        echo "python3 has no venv module here; install it (on Debian it is the package python3-venv)" >&2
        exit 1
    fi
fi
rm -rf "$venv"
python3 -m venv "$venv"
# shellcheck disable=SC2086 # a list of words
"$venv/bin/pip" install --quiet --disable-pip-version-check $packages
printf '%s' "$packages" >"$stamp"
current || { echo "the packages were installed in $venv but cannot be imported" >&2; exit 1; }
