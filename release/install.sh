#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs lifeline, and kubectl-lifeline beside it, without root:
#
#   curl -fsSL @RELEASE_URL@/install.sh | sh
#
#   INSTALL_DIR   the folder; default: ~/.local/bin
#   RELEASE_URL   the address of the files; default: @RELEASE_URL@
#   LIFELINE_KEY  a file with the public key of the release; the signature of the checksums is checked with it
set -eu

version='@VERSION@'

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# download URL FILE
download() {
	if has curl; then
		curl -fsSL --retry 2 -o "$2" "$1" || fail "cannot download $1"
	elif has wget; then
		wget -q -O "$2" "$1" || fail "cannot download $1"
	else
		fail "needs curl or wget"
	fi
}

# sum FILE
sum() {
	if has sha256sum; then
		sha256sum "$1" | cut -d' ' -f1
	elif has shasum; then
		shasum -a 256 "$1" | cut -d' ' -f1
	elif has openssl; then
		openssl dgst -sha256 -r "$1" | cut -d' ' -f1
	else
		fail "needs sha256sum, shasum or openssl to check the download"
	fi
}

# Everything is in a function: a download of this script that breaks off does nothing.
main() {
	url="${RELEASE_URL:-@RELEASE_URL@}"
	if [ -z "${INSTALL_DIR:-}" ]; then
		[ -n "${HOME:-}" ] || fail "HOME is not set; set INSTALL_DIR to the folder for lifeline"
		INSTALL_DIR="$HOME/.local/bin"
	fi

	case "$(uname -s)" in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no lifeline for $(uname -s) here; for Windows: scoop, or the zip files at $url" ;;
	esac
	case "$(uname -m)" in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no lifeline for the processor $(uname -m)" ;;
	esac

	work="$(mktemp -d)"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM

	archive="lifeline_${version#v}_${os}_$arch.tar.gz"
	download "$url/checksums.txt" "$work/checksums.txt"
	if [ -n "${LIFELINE_KEY:-}" ]; then
		has openssl || fail "LIFELINE_KEY is set, and the check of a signature needs openssl"
		download "$url/checksums.txt.sig" "$work/checksums.txt.sig"
		openssl dgst -sha256 -verify "$LIFELINE_KEY" -signature "$work/checksums.txt.sig" \
			"$work/checksums.txt" >/dev/null 2>&1 ||
			fail "the signature of $url/checksums.txt is not of the key $LIFELINE_KEY; nothing was installed"
	fi
	wanted="$(awk -v file="$archive" '$2 == file { print $1 }' "$work/checksums.txt")"
	[ -n "$wanted" ] || fail "$url/checksums.txt does not list $archive"
	download "$url/$archive" "$work/$archive"
	got="$(sum "$work/$archive")"
	[ "$got" = "$wanted" ] ||
		fail "$url/$archive has the checksum $got and not $wanted; nothing was installed"

	tar -xzf "$work/$archive" -C "$work" lifeline || fail "cannot unpack $archive"
	mkdir -p "$INSTALL_DIR" || fail "cannot make $INSTALL_DIR; set INSTALL_DIR to another folder"
	[ -w "$INSTALL_DIR" ] || fail "cannot write to $INSTALL_DIR; set INSTALL_DIR to another folder"
	# A rename replaces a program that runs.
	cp "$work/lifeline" "$INSTALL_DIR/.lifeline.new"
	chmod 755 "$INSTALL_DIR/.lifeline.new"
	mv -f "$INSTALL_DIR/.lifeline.new" "$INSTALL_DIR/lifeline"
	ln -sf lifeline "$INSTALL_DIR/kubectl-lifeline"

	echo "installed lifeline $version as $INSTALL_DIR/lifeline, and as kubectl lifeline"
	case ":$PATH:" in
	*":$INSTALL_DIR:"*) ;;
	*) echo "$INSTALL_DIR is not in PATH: export PATH=\"$INSTALL_DIR:\$PATH\"" ;;
	esac
}

main
