// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// define makes a kind of the test's own, with status and conditions.
func define(t *testing.T, kind string) {
	t.Helper()
	plural := strings.ToLower(kind) + "s"
	apply(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.e2e.lifeline.test}
spec:
  group: e2e.lifeline.test
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s, singular: %[3]s}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind, plural, strings.ToLower(kind)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if _, err := bench.RunKubectl(
			ctx,
			nil,
			"delete",
			"crd",
			plural+".e2e.lifeline.test",
			"--wait=false",
		); err != nil {
			t.Logf("cannot delete the kind: %v", err)
		}
	})
	bench.MustKubectl(t, "", "wait", "--for=condition=Established", "crd/"+plural+".e2e.lifeline.test", "--timeout=4m")
}

func custom(kind, namespace, name, spec string) string {
	return fmt.Sprintf(
		"apiVersion: e2e.lifeline.test/v1\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec: {%s}\n",
		kind,
		name,
		namespace,
		spec,
	)
}

// status acts as the controller: it sets an object's status. ready is the status
// of its condition.
func status(t *testing.T, resource, namespace, name, fields, ready string) {
	t.Helper()
	bench.MustKubectl(
		t,
		"",
		"-n",
		namespace,
		"patch",
		resource,
		name,
		"--subresource=status",
		"--type=merge",
		"-p",
		fmt.Sprintf(
			`{"status":{%s"conditions":[{"type":"Ready","status":%q,"reason":"Test","message":"as the test `+
				`says","lastTransitionTime":%q}]}}`,
			fields,
			ready,
			time.Now().UTC().Format(time.RFC3339),
		),
	)
}

func TestCustomKind(t *testing.T) {
	ns := bench.Namespace(t)
	define(t, "Gadget")
	apply(t, custom("Gadget", ns, "there", "size: 1"))
	status(t, "gadgets", ns, "there", `"observedGeneration":1,`, "True")
	begin := func(t *testing.T, manifest string) *harness.Process {
		t.Helper()
		return bench.Begin(t, harness.Call{
			Args: []string{
				"run",
				"-o",
				"json",
				"--timeout",
				"5m",
				"--",
				"kubectl",
				"apply",
				"-f",
				harness.File(t, manifest),
			},
		})
	}
	t.Run("that says what it has observed", func(t *testing.T) {
		p := begin(t, custom("Gadget", ns, "there", "size: 2"))
		p.AwaitStderr(t, "running: Gadget there")
		status(t, "gadgets", ns, "there", `"observedGeneration":2,`, "False")
		p.AwaitStderr(t, "“as the test says”")
		status(t, "gadgets", ns, "there", `"observedGeneration":2,`, "True")
		r := harness.Parse(t, p.Wait(t))
		if r.Code != 0 {
			t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
		}
		outline(t, r, `
run converged
  reconcile Gadget there converged (request)
    condition there
    update Gadget there (request)
`)
	})
	t.Run("that does not say what it has observed", func(t *testing.T) {
		p := begin(t, custom("Gadget", ns, "mute", "size: 1"))
		bench.MustKubectl(t, "", "-n", ns, "wait", "--for=create", "gadget/mute", "--timeout=4m")
		status(t, "gadgets", ns, "mute", "", "False")
		began := time.Now()
		p.AwaitStderr(t, "“as the test says”")
		// Nothing more is said for longer than a kind is given that says nothing.
		harness.Eventually(t, "silence", func() bool { return time.Since(began) > 5*time.Second })
		status(t, "gadgets", ns, "mute", "", "True")
		r := harness.Parse(t, p.Wait(t))
		if r.Code != 0 {
			t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
		}
		outline(t, r, `
run converged
  reconcile Gadget mute converged (request)
    condition mute
    create Gadget mute (request)
`)
	})
	t.Run("that says it will never be ready", func(t *testing.T) {
		p := bench.Begin(t, harness.Call{Args: []string{
			"run",
			"-o",
			"json",
			"--timeout",
			"15s",
			"--",
			"kubectl",
			"-n",
			ns,
			"patch",
			"gadget",
			"there",
			"--type=merge",
			"-p",
			`{"spec":{"size":3}}`,
		}})
		p.AwaitStderr(t, "running: Gadget there")
		status(t, "gadgets", ns, "there", `"observedGeneration":3,`, "False")
		r := harness.Parse(t, p.Wait(t))
		if r.Code != 3 ||
			!strings.Contains(r.Stderr, "not settled within 15s: Gadget there is not ready: “as the test says”") {
			t.Errorf("exit code %d, want 3 and what the kind says:\n%s", r.Code, r.Stderr)
		}
	})
}

func TestKindThatAppearsLater(t *testing.T) {
	ns := bench.Namespace(t)
	for name, args := range map[string][]string{
		"whole cluster": {"watch", "-o", "json", "-A"},
		"one namespace": {"watch", "-o", "json", "-n", ns},
	} {
		t.Run(name, func(t *testing.T) {
			kind := "Later" + strings.ToLower(name[:3])
			p := bench.Begin(t, harness.Call{Args: args})
			p.AwaitStderr(t, "; Ctrl-C ends it")
			define(t, kind)
			apply(t, custom(kind, ns, "new", "size: 1"))
			status(t, strings.ToLower(kind)+"s", ns, "new", `"observedGeneration":1,`, "True")
			p.AwaitStdout(t, `"reconcile `+kind+`"`)
			r := harness.Parse(t, leave(t, p))
			for _, tr := range r.Traces {
				if len(tr.Find("reconcile "+kind, "new")) == 0 {
					continue
				}
				if got, want := (harness.Names{}).Outline(tr), "reconcile "+kind+" new converged\n"; !strings.HasPrefix(
					got,
					want,
				) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}
