#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Traces a change through an operator that carries contexts, and prints the tree: make demo-operator, which builds
# bin/lab and bin/lifeline first.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
sample=examples/head-operator/config/samples/head.yaml

echo 'building bin/head-operator'
(cd examples/head-operator && go build -o ../../bin/head-operator .)

work="$(mktemp -d)"
operator=
end() {
	if [ -n "$operator" ]; then
		kill "$operator" 2>/dev/null || true
		wait "$operator" 2>/dev/null || true
	fi
	rm -rf "$work"
	bin/lab down --name demo-operator
}
trap end EXIT
bin/lab up --name demo-operator --nodes kwok
KUBECONFIG="$(bin/lab kubeconfig --name demo-operator)"
PATH="$(bin/lab bin --name demo-operator):$PATH"
export KUBECONFIG PATH

bin/head-operator install --webhook-url https://127.0.0.1:19443 --generate-cert "$work"
bin/head-operator --tracing --webhook-host 127.0.0.1 --webhook-port 19443 --webhook-cert-dir "$work" 2>"$work/log" &
operator=$!
# The API server takes two seconds over the first request of a new kind.
kubectl apply --dry-run=server -f "$sample" >/dev/null

echo
echo "\$ lifeline run --record change.jsonl -- kubectl apply -f $sample"
bin/lifeline run --record "$work/change.jsonl" -- kubectl apply -f "$sample"
echo
echo '$ lifeline replay -o table change.jsonl   # EVIDENCE: how each edge is known'
bin/lifeline replay -o table "$work/change.jsonl"
