#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes completion scripts and manual pages of lifeline into a new folder: release/texts.sh FOLDER
# It runs on this machine, whatever it builds for.
set -euo pipefail
cd "$(dirname "$0")/.."

unset GOOS GOARCH
rm -rf "$1"
mkdir -p "$1"
folder="$(cd "$1" && pwd)"
cd app
CGO_ENABLED=0 go test -vet=off -trimpath -buildvcs=false -tags=grpcnotrace -count 1 \
	-run '^TestTexts$' ./cmd/lifeline -texts "$folder"
