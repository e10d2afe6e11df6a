#!/bin/sh
# Installs the programs that the benchmark compares swb with: tmux, GNU screen and dtach from Debian's packages, and shpool
# with cargo. Does nothing for those that are already there.
set -eu

missing=
for program in tmux screen dtach; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if ! command -v shpool >/dev/null 2>&1; then
    cargo install --locked shpool
fi
if [ -z "$missing" ]; then
    echo "tmux, screen, dtach and shpool are installed"
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "This script knows only apt-get; please install by other means:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
fi

export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update
# Package names equal program names. The variable is a list, hence no quotes.
# shellcheck disable=SC2086
$as_root apt-get install --yes --no-install-recommends $missing
