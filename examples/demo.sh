#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Traces some changes on a real Kubernetes with simulated nodes, and shows them on a page: make demo.
# DEMO_API is the address of the server.
#
# A cold machine takes two minutes to compile lifeline and fifteen to compile Kubernetes. cmd/replay and cmd/history
# are small: a recording is there in the first minute, and a page with a month of changes soon after.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
api="${DEMO_API:-127.0.0.1:7070}"

# Opens a URL in the browser of the system, if there is one.
browse() {
	if [ "$(uname)" = Darwin ]; then
		open "$1"
	elif [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
		xdg-open "$1" &
	fi >/dev/null 2>&1 || true
}

work="$(mktemp -d)"
server=
end() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		server=
	fi
}
# The page of the time while Kubernetes is built. Without it, such as for a taken port, the build goes on.
month() {
	echo 'building bin/history'
	(cd app && go build -tags grpcnotrace -o ../bin/history ./cmd/history)
	bin/history -address "$api" -recording examples/web.recording.jsonl.gz >"$work/history" 2>&1 &
	server=$!
	for _ in $(seq 300); do
		grep -q 'Ctrl-C' "$work/history" && break
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	grep -v 'Ctrl-C' "$work/history" || true
	if kill -0 "$server" 2>/dev/null; then
		browse "http://$api/changes?range=30d"
	fi
}
cluster=
trap 'end; rm -rf "$work"; if [ -n "$cluster" ]; then bin/lab down --name demo; fi' EXIT

echo 'building bin/lab'
(cd lab && go build -o ../bin/lab ./cmd/lab)
if ! bin/lab build --nodes kwok --check 2>/dev/null; then
	echo 'building bin/replay'
	(cd app && go build -o ../bin/replay ./cmd/replay)
	echo
	echo 'A recording of the change, from a real node:'
	echo '$ lifeline replay examples/web.recording.jsonl.gz'
	bin/replay examples/web.recording.jsonl.gz
	echo
	month
	echo
	echo 'Next, the same change live. Kubernetes is built for it now, once: about fifteen minutes on two cores.'
	bin/lab build --nodes kwok
	make --no-print-directory bin
	end # the page of the cluster has the same address
else
	make --no-print-directory bin
fi

cluster=demo
bin/lab up --name demo --nodes kwok
KUBECONFIG="$(bin/lab kubeconfig --name demo)"
PATH="$(bin/lab bin --name demo):$PATH"
export KUBECONFIG PATH LIFELINE_SERVER="http://$api"

bin/lifeline serve --data-dir "$work/data" --api-address "$api" --telemetry-address 127.0.0.1:0 2>"$work/log" &
server=$!
for _ in $(seq 100); do
	bin/lifeline ls -A >/dev/null 2>&1 && break
	if ! kill -0 "$server" 2>/dev/null; then
		cat "$work/log" >&2
		echo "lifeline serve ended; if $api is in use, choose another: make demo DEMO_API=127.0.0.1:7080" >&2
		exit 1
	fi
	sleep 0.2
done

echo
echo '$ lifeline run -- kubectl apply -f examples/web.yaml'
bin/lifeline run -- kubectl apply -f examples/web.yaml
echo
echo 'Some more changes. One Pod waits three seconds for a disk.' \
	'The last one asks for more processors than any node has.'
echo '$ lifeline ls'
kubectl set image deployment/web web=registry.example/web:2 >/dev/null
kubectl rollout status deployment/web --timeout 30s >/dev/null
kubectl scale deployment/web --replicas 4 >/dev/null
kubectl create deployment patient --image registry.example/patient:1 --dry-run=client -o yaml |
	kubectl patch --local -f - --type merge -o yaml \
		-p '{"spec":{"template":{"spec":{"nodeSelector":{"disk":"fast"}}}}}' |
	kubectl apply -f - >/dev/null
kubectl create deployment greedy --image registry.example/greedy:1 --dry-run=client -o yaml |
	kubectl set resources --local -f - --requests cpu=1000 -o yaml |
	kubectl apply -f - >/dev/null
sleep 3
kubectl label nodes --all disk=fast >/dev/null
sleep 4
bin/lifeline ls
echo
echo '$ lifeline why deployment/greedy'
bin/lifeline why deployment/greedy || true
echo
if [ -t 0 ] && [ -t 1 ]; then
	echo '$ lifeline ui'
	bin/lifeline ui
	read -r -p 'Enter ends the demo. '
else
	echo 'In a terminal, the demo ends with the same on a page: lifeline ui'
fi
