#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release of this commit into dist/, and publishes nothing: make release VERSION=v0.1.0
#
#   VERSION      the version, with a v
#   RELEASE_URL  the address that the files will have; every link begins with it
#   REGISTRY     the place that the images will have
#   SIGN_KEY     a private key in PEM (EC or RSA); without one, the checksums have no signature
#   PLATFORMS    systems to build for, such as "linux"; default: linux darwin windows
#   DIST         the folder of the files; what is in it is removed
#   KUBERNETES   the version of Kubernetes in lifeline-scheduler
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "release: $*" >&2
	exit 1
}

[[ "${VERSION:-}" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
	fail "VERSION is '${VERSION:-}'; set it to a version such as v0.1.0: make release VERSION=v0.1.0"
[ -z "${SIGN_KEY:-}" ] || [ -r "$SIGN_KEY" ] || fail "SIGN_KEY is $SIGN_KEY, which cannot be read"
tagged="$(git rev-parse -q --verify "refs/tags/$VERSION^{commit}" || true)"
[ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] || fail "the tag $VERSION is on another commit, $tagged"
[ -z "$(git status --porcelain)" ] || echo "release: WARNING: there are uncommitted changes" >&2

DIST="${DIST:-dist}"
[ "$DIST" = dist ] || [ ! -e "$DIST" ] || [ -f "$DIST/checksums.txt" ] ||
	fail "DIST is $DIST, which has no checksums.txt, so it is no release; it would be removed"
REGISTRY="${REGISTRY:-ghcr.io/kube-lifeline}"
export RELEASE_URL="${RELEASE_URL:-https://github.com/kube-lifeline/lifeline/releases/download/$VERSION}"
export KUBERNETES="${KUBERNETES:-$(sed -n 's|^\tk8s.io/kubernetes ||p' scheduler/go.mod)}"
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
export SOURCE_DATE_EPOCH GORELEASER_CURRENT_TAG="$VERSION"
# GoReleaser wants a remote, and a clone may have another one or none.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/kube-lifeline/lifeline

config=.goreleaser.yaml
if [ -n "${PLATFORMS:-}" ]; then
	config=bin/goreleaser.yaml
	systems="$(tr ' ' '\n' <<<"$PLATFORMS" | cut -d/ -f1 | sort -u | paste -sd,)"
	architectures="$(tr ' ' '\n' <<<"$PLATFORMS" | grep / | cut -d/ -f2 | sort -u | paste -sd, || true)"
	sed -E "s/&systems \[.*\]/\&systems [$systems]/
		s/&architectures \[.*\]/\&architectures [${architectures:-amd64, arm64}]/" .goreleaser.yaml >$config
	grep -qw windows <<<"$systems" || sed -i.all '/^scoops:/,$ d' $config # scoop is for Windows
fi
PATH="$PWD/bin:$PATH" bin/goreleaser release --config $config --clean --skip=publish,announce,validate

chart=
if [ -f deploy/helm/lifeline/Chart.yaml ]; then
	bin/helm lint --strict --quiet deploy/helm/lifeline
	mkdir -p bin/release-chart
	bin/helm package deploy/helm/lifeline --version "${VERSION#v}" --app-version "${VERSION#v}" -d bin/release-chart
	chart="bin/release-chart/lifeline-${VERSION#v}.tgz"
fi

rm -rf "$DIST"
# GOWORK=off: its dependencies are not those of Lifeline.
(cd release && GOWORK=off go build -o ../bin/release .)
bin/release -built bin/goreleaser-dist -dist "$DIST" -version "$VERSION" -revision "$(git rev-parse HEAD)" \
	-created "$SOURCE_DATE_EPOCH" -url "$RELEASE_URL" -registry "$REGISTRY" -chart "$chart"

if [ -n "${SIGN_KEY:-}" ]; then
	openssl dgst -sha256 -sign "$SIGN_KEY" -out "$DIST/checksums.txt.sig" "$DIST/checksums.txt"
	openssl pkey -in "$SIGN_KEY" -pubout -out "$DIST/lifeline.pub"
else
	echo "release: no SIGN_KEY, so $DIST/checksums.txt has no signature" >&2
fi
du -ch "$DIST"/*
