#!/usr/bin/env bash
# What some tests need beyond npm, from Debian: a real browser, a keychain that runs without a desktop, a sandbox, shells. Installs only
# what is missing, and only where it may. It never fails: a test says of itself where it is skipped, and why.
set -uo pipefail

packages=()
command -v chromium >/dev/null || packages+=(chromium)
command -v gnome-keyring-daemon >/dev/null || packages+=(gnome-keyring)
command -v bwrap >/dev/null || packages+=(bubblewrap)
command -v dbus-run-session >/dev/null || packages+=(dbus dbus-x11)
command -v zsh >/dev/null || packages+=(zsh)
command -v fish >/dev/null || packages+=(fish)
[[ ${#packages[@]} -eq 0 ]] && exit 0

skip() {
  printf 'Not installed: %s. %s The tests that need them are skipped.\n' "${packages[*]}" "$1" >&2
  exit 0
}

command -v apt-get >/dev/null || skip "There is no apt-get here."
[[ $(id -u) -eq 0 ]] || skip "That takes root (sudo apt-get install ${packages[*]})."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
printf 'Installing %s.\n' "${packages[*]}"
install() { timeout 600 apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$log" 2>&1; }
# The lists may be old, or absent as in most images.
install || { timeout 120 apt-get update -qq >>"$log" 2>&1 && install; } || {
  tail -n 5 "$log" >&2
  skip "apt-get failed; its last words are above."
}
