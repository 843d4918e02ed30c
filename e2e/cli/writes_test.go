// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

func TestWhatKubectlWrites(t *testing.T) { writes(t, "kubectl") }

// writes runs a kubectl in each way that writes.
func writes(t *testing.T, kubectl string) {
	t.Helper()
	const nothing = "run converged\n"
	var many, manyWant strings.Builder
	manyWant.WriteString(nothing)
	for i := range 12 {
		fmt.Fprintf(&many, "---\n%s", configMap("NS", fmt.Sprintf("m%02d", i), "a: b"))
		fmt.Fprintf(&manyWant, "  create ConfigMap m%02d (request)\n", i)
	}
	const told = "run converged\n  update ConfigMap there (request)\n"
	tests := map[string]struct {
		reason string
		// args are kubectl's; NS, FILE and DIR stand for the namespace and for
		// the manifest, as a file and in a directory.
		args     string
		manifest string
		want     string
	}{
		"create": {
			"",
			"create -f FILE",
			configMap("NS", "new", "a: b"),
			nothing + "  create ConfigMap new (request)\n",
		},
		"apply of what is new": {
			"",
			"apply -f FILE",
			configMap("NS", "new", "a: b"),
			nothing + "  create ConfigMap new (request)\n",
		},
		"apply of a change": {"a patch", "apply -f FILE", configMap("NS", "there", "a: c"), told},
		"apply of what is there": {
			"kubectl sends nothing",
			"apply -f FILE",
			configMap("NS", "there", "a: b"),
			nothing,
		},
		"server-side apply": {
			"as another manager",
			"apply --server-side --force-conflicts -f FILE",
			configMap("NS", "bare", "a: d"),
			nothing + "  update ConfigMap bare (request)\n",
		},
		"server-side apply of new": {
			"an apply may create",
			"apply --server-side -f FILE",
			configMap("NS", "new", "a: b"),
			nothing + "  create ConfigMap new (request)\n",
		},
		"apply of a directory": {"many objects", "apply -f DIR", many.String(), manyWant.String()},
		"replace":              {"an update", "replace -f FILE", configMap("NS", "there", "a: c"), told},
		"replace --force": {
			"a delete and a create",
			"replace --force -f FILE",
			configMap("NS", "there", "a: c"),
			nothing + "  create ConfigMap there (request)\n  delete ConfigMap there (request)\n",
		},
		"JSON patch": {
			"",
			`patch configmap there --type=json -p [{"op":"add","path":"/data/b","value":"c"}]`,
			"",
			told,
		},
		"merge patch":     {"", `patch configmap there --type=merge -p {"data":{"b":"c"}}`, "", told},
		"strategic patch": {"", `patch configmap there --type=strategic -p {"data":{"b":"c"}}`, "", told},
		"patch that changes nothing": {
			"stored nothing",
			`patch configmap there --type=merge -p {"data":{"a":"b"}}`,
			"",
			nothing,
		},
		"label":               {"", "label configmap there tier=back", "", told},
		"label that is there": {"stored nothing", "label configmap there app=x", "", nothing},
		"annotate":            {"", "annotate configmap there note=x", "", told},
		"delete": {
			"",
			"delete configmap there",
			"",
			nothing + "  delete ConfigMap there (request)\n",
		},
		"delete by label": {
			"",
			"delete configmap -l app=x",
			"",
			nothing + "  delete ConfigMap there (request)\n",
		},
		"delete --all": {
			"kubectl deletes one by one",
			"delete configmap -l app --wait=false",
			"",
			nothing + "  delete ConfigMap other (request)\n  delete ConfigMap there (request)\n",
		},
		"delete of a collection": {
			"one request, many objects",
			"delete --raw /api/v1/namespaces/NS/configmaps?labelSelector=app",
			"",
			nothing + "  delete ConfigMap other (request)\n  delete ConfigMap there (request)\n",
		},
		"raw create": {
			"",
			"create --raw /api/v1/namespaces/NS/configmaps -f FILE",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}`,
			nothing + "  create ConfigMap raw (request)\n",
		},
		"generated name": {
			"only the answer tells it",
			"create -f FILE",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: made-, namespace: NS}\n",
			nothing + "  create ConfigMap made-* (request)\n",
		},
		"big": {
			"900 KiB",
			"create -f FILE",
			configMap("NS", "big", "a: "+strings.Repeat("x", 900<<10)),
			nothing + "  create ConfigMap big (request)\n",
		},
		"dry run of a create": {
			"stored nothing",
			"create --dry-run=server -f FILE",
			configMap("NS", "new", "a: b"),
			nothing,
		},
		"dry run of an apply": {
			"stored nothing",
			"apply --dry-run=server -f FILE",
			configMap("NS", "there", "a: c"),
			nothing,
		},
		"dry run of a server's apply": {
			"stored nothing",
			"apply --server-side --dry-run=server -f FILE",
			configMap("NS", "there", "a: b"),
			nothing,
		},
		"dry run of a delete": {
			"in the body of the request",
			"delete configmap there --dry-run=server",
			"",
			nothing,
		},
		"dry run by the client": {
			"sends no write",
			"create --dry-run=client -f FILE",
			configMap("NS", "new", "a: b"),
			nothing,
		},
		"diff":       {"a dry run", "diff -f FILE", configMap("NS", "there", "a: b"), nothing},
		"get":        {"a read", "get configmaps", "", nothing},
		"auth can-i": {"a review", "auth can-i create configmaps", "", nothing},
		"token":      {"signed, not stored", "create token default", "", nothing},
		"scale of nothing": {
			"what changes is who manages the field",
			"scale deployment none --replicas=0",
			"",
			nothing + "  update Deployment none (request)\n",
		},
		"status": {
			"a write of a subresource",
			`patch deployment none --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Test",` +
				`"status":"True"}]}}`,
			"",
			nothing + "  update Deployment none (request)\n",
		},
		"annotate what is reconciled": {
			"no generation tells",
			"annotate service there note=x",
			"",
			nothing + "  update Service there (request)\n",
		},
		"rollout of nothing": {
			"a template that nobody runs",
			"rollout restart deployment none",
			"",
			nothing + "  reconcile Deployment none converged (request)\n    reconcile ReplicaSet none-* " +
				"converged (owner)\n    update Deployment none (request)\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := bench.Namespace(t)
			apply(
				t,
				configMap(ns, "there", "a: b")+"---\n"+configMap(ns, "other", "a: b")+"---\n"+deployment(ns, "none", 0),
			)
			bench.MustKubectl(t, service(ns, "there")+"---\n"+configMap(ns, "bare", ""), "create", "-f", "-")
			bench.MustKubectl(t, "", "-n", ns, "label", "configmap", "there", "app=x")
			bench.MustKubectl(t, "", "-n", ns, "label", "configmap", "other", "app=y")
			settled(t, ns, "none")
			bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "serviceaccount/default", "--timeout=4m")
			file := write(t, "manifest.yaml", strings.ReplaceAll(tt.manifest, "NS", ns), 0o600)
			fill := strings.NewReplacer("NS", ns, "FILE", file, "DIR", strings.TrimSuffix(file, "/manifest.yaml"))
			command := []string{kubectl, "-n", ns}
			for arg := range strings.FieldsSeq(tt.args) {
				command = append(command, fill.Replace(arg))
			}
			r := bench.Run(t, 0, nil, command...)
			made(r).Expect(t, r, tt.want)
			bench.CheckRequests(t, r, ns, "kubectl")
		})
	}
}

// made names what the API server or a controller has made up names for.
func made(r harness.Result) harness.Names {
	n := harness.Names{}
	for _, tr := range r.Traces {
		for _, s := range tr.Spans {
			for _, prefix := range []string{"made-", "none-"} {
				if strings.HasPrefix(s.Object(), prefix) {
					n = n.With(s.Object(), prefix+"*")
				}
			}
		}
	}
	return n
}
