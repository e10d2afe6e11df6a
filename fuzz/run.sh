#!/bin/sh
# Runs every fuzz target for SECONDS each and fails on the first crash.
#
#   fuzz/run.sh SECONDS [TARGET...]
#
# FUZZ_SEED makes a run repeat the same inputs, as far as time allows; without it each run tries others.
#
# Stable Rust is enough: the coverage that libFuzzer steers by comes from plain LLVM passes, and the crates
# under test hold no unsafe code for an address sanitizer to watch. The corpus starts with the golden
# vectors and recordings and grows in fuzz/corpus; an input that crashes is left in fuzz/artifacts.
set -eu

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- keepty_decoder coop_decoder clippy scriptschnell web screen stun tunnel

cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')

cargo run --quiet --package swb-fuzz-seeds -- corpus

# With --target given, the flags reach the targets but not build scripts, which could not link with them.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    RUSTFLAGS="$RUSTFLAGS -Cllvm-args=-sanitizer-coverage-$option"
done
export RUSTFLAGS

# All at once, so that no core waits for the last crate of one target.
bins=
for target in "$@"; do
    bins="$bins --bin $target"
done
# shellcheck disable=SC2086 # these are words
cargo build --quiet --release --target "$host" $bins

# The longest golden conversation that is a seed has fewer bytes than max_len. A frame that large holds
# every construct; rss_limit_mb catches memory set aside for a length that was only announced.
for target in "$@"; do
    # Seeds are made for most targets, not for each: a corpus may begin empty.
    mkdir -p "artifacts/$target" "corpus/$target"
    cargo run --quiet --release --target "$host" --bin "$target" -- \
        -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=512 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="artifacts/$target/" "corpus/$target"
done
