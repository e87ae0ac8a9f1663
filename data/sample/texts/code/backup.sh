#!/usr/bin/env bash
# Pack a folder into a dated archive and keep only the newest few archives.
#
# Usage: backup.sh SOURCE TARGET [KEEP]
#   SOURCE  folder to be saved
#   TARGET  folder that receives the archives; it is created when missing
#   KEEP    number of archives to keep, 7 by default

set -euo pipefail

fail() {
    printf 'backup: %s\n' "$1" >&2
    exit 1
}

[ $# -ge 2 ] || fail "two folders are needed: SOURCE and TARGET"
source_dir=$1
target_dir=$2
keep=${3:-7}

[ -d "$source_dir" ] || fail "the source is not a folder: $source_dir"
[[ $keep =~ ^[1-9][0-9]*$ ]] || fail "KEEP must be a positive whole number, not '$keep'"
mkdir -p "$target_dir"

name=$(basename "$(cd "$source_dir" && pwd)")
archive="$target_dir/$name-$(date +%Y-%m-%d-%H%M%S).tar.gz"
partial="$archive.partial"

# Write under another name first: a broken run never looks like a finished archive.
trap 'rm -f "$partial"' EXIT
tar -czf "$partial" -C "$source_dir" .
tar -tzf "$partial" >/dev/null || fail "the new archive cannot be read back"
mv "$partial" "$archive"
printf 'written: %s\n' "$archive"

# The date in the name sorts like the time, so the oldest archives come first.
shopt -s nullglob
archives=("$target_dir/$name"-[0-9]*.tar.gz)
surplus=$((${#archives[@]} - keep))
for ((i = 0; i < surplus; i++)); do
    rm -- "${archives[i]}"
    printf 'removed: %s\n' "${archives[i]}"
done
