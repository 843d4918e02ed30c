#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# go mod tidy for this module. k8s.io/kubernetes requires its staging modules as v0.0.0, which do not
# exist, so `go mod tidy` needs replacements. Builds do not: they take the versions that go.mod
# requires itself. So the replacements are there during this script only, and `go install` works.
set -eu
cd "$(dirname "$0")"
export GOWORK=off GOFLAGS=-mod=mod
version=$(sed -n 's/^\tk8s.io\/kubernetes v1\./v0./p' go.mod)
source=$(go list -m -f '{{.GoMod}}' k8s.io/kubernetes)
trap 'rm -f tidy.mod tidy.sum' EXIT
cp go.mod tidy.mod
cp go.sum tidy.sum
sed -n "s|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|replace \1 => \1 $version|p" "$source" >> tidy.mod
go mod tidy -modfile=tidy.mod
for module in $(sed -n "s|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p" "$source"); do
	go mod edit -dropreplace "$module" tidy.mod
done
sed "s|^\(\tk8s.io/[a-z-]*\) v0.0.0\( .*\)\?$|\1 $version\2|" tidy.mod | cat -s > go.mod
go mod edit -fmt
cp tidy.sum go.sum
go build ./...
