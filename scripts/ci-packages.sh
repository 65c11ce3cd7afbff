#!/usr/bin/env bash
# Installs the Debian packages that some tests need: a browser, a keychain that runs without a desktop, a sandbox, shells, a proxy. Installs
# only missing ones, and only if it can. It never fails: tests that need them are skipped, with the reason.
set -uo pipefail

packages=()
command -v chromium >/dev/null || packages+=(chromium)
command -v gnome-keyring-daemon >/dev/null || packages+=(gnome-keyring)
command -v bwrap >/dev/null || packages+=(bubblewrap)
command -v dbus-run-session >/dev/null || packages+=(dbus dbus-x11)
command -v zsh >/dev/null || packages+=(zsh)
command -v fish >/dev/null || packages+=(fish)
command -v nginx >/dev/null || packages+=(nginx-light)
[[ ${#packages[@]} -eq 0 ]] && exit 0

skip() {
  printf 'Not installed: %s. %s The tests that need them are skipped.\n' "${packages[*]}" "$1" >&2
  exit 0
}

command -v apt-get >/dev/null || skip "apt-get does not exist here."
[[ $(id -u) -eq 0 ]] || skip "It requires root (sudo apt-get install ${packages[*]})."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
printf 'Installing %s.\n' "${packages[*]}"
install() { timeout 600 apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$log" 2>&1; }
# The package lists may be old, or missing as in most images.
install || { timeout 120 apt-get update -qq >>"$log" 2>&1 && install; } || {
  tail -n 5 "$log" >&2
  skip "apt-get failed; the end of its output is above."
}
