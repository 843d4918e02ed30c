#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Keeps the data of a release for the tests of later ones: make keep-data VERSION=v0.1.0. A server watches a cluster
# of the lab during some changes, and is killed: two changes are open, and all spans wait for a backend. The result
# is testdata/VERSION: the files of the server, a recording and an export.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
out="$PWD/app/internal/serve/testdata/${1#v}"
if [ -e "$out" ]; then
	echo "$out exists: the data of a release never change" >&2
	exit 1
fi
work="$(mktemp -d)"
server= recorder=
end() {
	for p in $server $recorder; do kill "$p" 2>/dev/null || true; done
	bin/lab down --name keep
	rm -rf "$work"
}
trap end EXIT
bin/lab up --name keep --nodes kwok
KUBECONFIG="$(bin/lab kubeconfig --name keep)"
PATH="$(bin/lab bin --name keep):$PATH"
export KUBECONFIG PATH LIFELINE_SERVER=http://127.0.0.1:7199
bin/lifeline serve --data-dir "$work/data" --api-address 127.0.0.1:7199 --telemetry-address 127.0.0.1:0 \
	--otlp http://127.0.0.1:1 2>"$work/log" &
server=$!
bin/lifeline record "$work/recording.jsonl.gz" 2>/dev/null &
recorder=$!
until bin/lifeline ls -A >/dev/null 2>&1; do sleep 0.2; done
sleep 3

bin/lifeline run -- kubectl apply -f examples/web.yaml >/dev/null
kubectl set image deployment/web web=registry.example/web:2 >/dev/null
kubectl rollout status deployment/web --timeout 60s >/dev/null
kubectl create job once --image registry.example/once:1 >/dev/null
sleep 8
kubectl delete service web >/dev/null
sleep 8
for name in greedy patient; do # open: no node has that many processors
	kubectl create deployment $name --image registry.example/$name:1 --dry-run=client -o yaml |
		kubectl set resources --local -f - --requests cpu=1000 -o yaml | kubectl apply -f - >/dev/null
done
sleep 4
bin/lifeline archive export -o "$work/export.jsonl.gz" --data-dir "$work/data" 2>/dev/null
kill -INT "$recorder"
wait "$recorder" || true
kill -KILL "$server"
wait "$server" 2>/dev/null || true
server= recorder=

mkdir -p "$out"
cp "$work"/{recording,export}.jsonl.gz "$out"
(cd "$work"/data && tar --sort=name --owner=0 --group=0 --mtime=@0 -cf - ./*/*.db ./*/*.db-wal) | gzip -9n >"$out/data.tar.gz"
ls -l "$out"
