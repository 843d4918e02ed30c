#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Changes the policy of a scheduler: one trace, to the filters and scores of each Pod. make demo-scheduler builds
# bin/lab, bin/lifeline and bin/lifeline-scheduler first.
# DEMO_API, DEMO_OTLP and DEMO_WEBHOOK are the addresses of the server, of its receiver of spans and of its webhook.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
api="${DEMO_API:-127.0.0.1:7070}"
otlp="${DEMO_OTLP:-127.0.0.1:14317}"
webhook="${DEMO_WEBHOOK:-127.0.0.1:19444}"
config=examples/scheduler-operator/config

echo 'building bin/scheduler-operator'
(cd examples/scheduler-operator && go build -o ../../bin/scheduler-operator .)

work="$(mktemp -d)"
started=()
end() {
	for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done
	for p in "${started[@]}"; do wait "$p" 2>/dev/null || true; done
	rm -rf "$work"
	bin/lab down --name demo-scheduler
}
trap end EXIT
bin/lab up --name demo-scheduler --nodes kwok --node-count 4
KUBECONFIG="$(bin/lab kubeconfig --name demo-scheduler)"
PATH="$(bin/lab bin --name demo-scheduler):$PATH"
export KUBECONFIG PATH LIFELINE_SERVER="http://$api"

# placed prints the number of running Pods of each node.
placed() {
	kubectl get pods -l app=web --field-selector status.phase=Running \
		-o custom-columns=NODE:.spec.nodeName --no-headers | sort | uniq -c
}

kubectl create namespace lifeline >/dev/null
kubectl create namespace scheduler-operator-system >/dev/null
kubectl apply -f "$config/crd" >/dev/null
kubectl wait --for=condition=Established crd/schedulingpolicies.scheduling.lifeline.dev >/dev/null
cat >"$work/lifeline.yaml" <<END
apiVersion: lifeline.dev/v1alpha1
kind: ServerConfiguration
dataDir: $work/data
api: {address: "$api"}
telemetry: {address: "127.0.0.1:0"}
receivers: {otlp: {grpc: {address: "$otlp"}}}
webhook: {endpoint: {address: "$webhook"}, certificate: {managed: true, names: [127.0.0.1]}}
replicas: {namespace: lifeline}
relations:
- name: policy
  from: {group: scheduling.lifeline.dev, kind: SchedulingPolicy}
  to: {group: apps, kind: Deployment}
  match: to.spec.template.spec.schedulerName == from.metadata.name
showValues: [{group: scheduling.lifeline.dev, kind: SchedulingPolicy, fields: [spec.profile]}]
END
bin/lifeline serve --config "$work/lifeline.yaml" 2>"$work/log" &
server=$!
started+=("$server")
for _ in $(seq 100); do
	bin/lifeline ls -A >/dev/null 2>&1 && break
	if ! kill -0 "$server" 2>/dev/null; then
		cat "$work/log" >&2
		echo 'lifeline serve ended; see DEMO_API, DEMO_OTLP and DEMO_WEBHOOK for its addresses' >&2
		exit 1
	fi
	sleep 0.2
done
bin/lifeline webhook install --url "https://$webhook/admission" -n lifeline
# The API server calls the webhook as soon as it has the certificate.
for _ in $(seq 100); do
	kubectl create deployment probe --image probe --dry-run=server -o yaml |
		grep -q trace.kubernetes.io/context && break
	sleep 0.3
done
echo "endpoint: $otlp" >"$work/tracing.yaml"
OTEL_EXPORTER_OTLP_ENDPOINT="http://$otlp" bin/scheduler-operator --scheduler bin/lifeline-scheduler \
	--tracing-config-file "$work/tracing.yaml" 2>"$work/operator.log" &
started+=($!)
# node-0 is the fullest, and has a taint.
kubectl taint node node-0 reserved=true:NoSchedule >/dev/null
kubectl run filler --image registry.example/filler:1 --overrides '{"spec": {"nodeName": "node-0", "containers": [{
	"name": "filler", "image": "registry.example/filler:1",
	"resources": {"requests": {"cpu": "8", "memory": "32Gi"}}}]}}' >/dev/null

echo
echo "\$ kubectl apply -f $config/samples/spread.yaml -f $config/samples/workload.yaml"
kubectl apply -f "$config/samples/spread.yaml"
kubectl wait --for=condition=Ready schedulingpolicy/batch --timeout 60s >/dev/null
kubectl apply -f "$config/samples/workload.yaml"
kubectl rollout status deployment/web --timeout 60s >/dev/null
placed
sleep 4 # the settle window
bin/lifeline trace deployment/web -o json >"$work/before.json"
echo
echo "\$ kubectl apply -f $config/samples/packed.yaml"
kubectl apply -f "$config/samples/packed.yaml"
kubectl wait --for=condition=Ready schedulingpolicy/batch --timeout 60s >/dev/null
sleep 8 # and the end of the old Pods
placed
echo
echo '$ lifeline trace schedulingpolicy/batch'
bin/lifeline trace schedulingpolicy/batch
bin/lifeline trace schedulingpolicy/batch -o json >"$work/after.json"
echo
echo "\$ scheduler-operator compare before.json after.json   # the scheduler's spans of the Pods"
bin/scheduler-operator compare "$work/before.json" "$work/after.json"
