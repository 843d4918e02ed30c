#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the release in dist/ a second time, and compares the checksums: make release-check VERSION=v0.1.0
# The second build is of a fresh clone in another folder. VERSION, RELEASE_URL and REGISTRY are to be those of dist/.
#
#   PLATFORMS   systems and processors to build again; with fewer than dist/ has, images and manifests are not compared
#   WARM_CACHE  1 to use the usual cache of Go: minutes instead of an hour, and no proof for the compiler
set -euo pipefail
cd "$(dirname "$0")/.."

first="${DIST:-dist}/checksums.txt"
[ -f "$first" ] || { echo "release-check: there is no $first: make release first" >&2; exit 1; }
again="$(mktemp -d)"
trap 'chmod -R u+w "$again"; rm -rf "$again"' EXIT
git clone --quiet --no-hardlinks . "$again/lifeline"
mkdir "$again/lifeline/bin"
cp bin/goreleaser bin/cyclonedx-gomod bin/helm "$again/lifeline/bin"
[ -n "${WARM_CACHE:-}" ] || export GOCACHE="$again/cache"
(cd "$again/lifeline" && DIST=dist SIGN_KEY='' release/release.sh)

# Images and manifests depend on the number of platforms.
second="$again/lifeline/dist/checksums.txt"
if [ "$(wc -l <"$first")" = "$(wc -l <"$second")" ]; then
	pattern=.
else
	pattern='\.(tar\.gz|zip|deb|rpm|cdx\.json)$'
fi
grep -E "$pattern" "$second" | sort >"$again/second"
grep -F -f <(sed 's/^[^ ]*//' "$again/second") "$first" | sort >"$again/first"
diff "$again/first" "$again/second" || { echo "release-check: these files differ (< ${DIST:-dist}, > the second build)" >&2; exit 1; }
echo "release-check: $(wc -l <"$again/second") of $(wc -l <"$first") files were built twice, and are equal"
