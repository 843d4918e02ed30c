// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// testdata is the directory of the recordings in the app module.
const testdata = "../../app/internal/source/audit/testdata"

// event has the used fields of an audit event.
type event struct {
	Level     string `json:"level"`
	Verb      string `json:"verb"`
	ObjectRef struct {
		Namespace string `json:"namespace"`
		Resource  string `json:"resource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// TestRecord records the same changes, granted and refused, at each level.
func TestRecord(t *testing.T) {
	harness.Slow(t)
	for level, name := range map[string]string{
		"Metadata":        "metadata",
		"Request":         "request",
		"RequestResponse": "response",
	} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			ns := "level-" + name
			bench.MustKubectl(t, "", "create", "namespace", ns)
			file := filepath.Join(t.TempDir(), name+".observations.jsonl.gz")
			observer := bench.Begin(t, harness.Call{Args: []string{"record", file, "-n", ns}})
			observer.AwaitStderr(t, "; Ctrl-C ends it")
			changes(t, ns)
			observer.Signal(t, syscall.SIGINT)
			if r := observer.Wait(t); r.Code != 0 {
				t.Fatalf("lifeline record ended with code %d\n%s", r.Code, r.Stderr)
			}
			log, refused := logged(t, ns, level)
			for _, code := range []int{403, 409, 422} {
				if refused[code] == 0 {
					t.Errorf("no write was refused with %d: the recording would prove nothing", code)
				}
			}
			if !*update {
				return
			}
			seen, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for suffix, data := range map[string][]byte{
				".observations.jsonl.gz": seen,
				".audit.jsonl.gz":        packed(t, log),
			} {
				if err := os.WriteFile(filepath.Join(testdata, name+suffix), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// changes are made by kubectl, as people do.
func changes(t *testing.T, ns string) {
	t.Helper()
	kubectl := func(args ...string) { bench.MustKubectl(t, "", append([]string{"-n", ns}, args...)...) }
	refused := func(stdin string, args ...string) {
		if out, err := bench.RunKubectl(
			t.Context(),
			strings.NewReader(stdin),
			append([]string{"-n", ns}, args...)...); err == nil {
			t.Errorf("kubectl %s was not refused: %s", strings.Join(args, " "), out)
		}
	}
	settled := func() { kubectl("rollout", "status", "deployment/web", "--timeout=4m") }
	bench.MustKubectl(t, manifest, "-n", ns, "apply", "-f", "-")
	settled()
	bench.MustKubectl(t, manifest, "-n", ns, "apply", "-f", "-") // changes nothing
	bench.MustKubectl(
		t,
		"",
		"-n",
		ns,
		"apply",
		"--server-side",
		"--force-conflicts",
		"-f",
		harness.File(t, strings.Replace(manifest, "replicas: 2", "replicas: 3", 1)),
	)
	settled()
	kubectl("set", "env", "deployment/web", "A=b")
	settled()
	kubectl("scale", "deployment/web", "--replicas=1")
	settled()
	kubectl("delete", "pod", "-l", "app=web", "--wait=true")
	settled()
	bench.MustKubectl(t, strings.ReplaceAll(secret, "NAME", "credentials"), "-n", ns, "apply", "-f", "-")

	stale := bench.MustKubectl(t, "", "-n", ns, "get", "deployment/web", "-o", "json")
	kubectl("annotate", "deployment/web", "note=1")
	refused(
		strings.Replace(stale, `"replicas": 1`, `"replicas": 2`, 1),
		"replace",
		"-f",
		"-",
	) // 409
	refused(
		"",
		"patch",
		"deployment/web",
		"--type=merge",
		"-p",
		`{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`,
	) // 422
	refused("", "scale", "deployment/web", "--replicas=5", "--as=nobody")                 // 403
	refused("", "create", "deployment", "other", "--image=registry/app:1", "--as=nobody") // 403
	kubectl("create", "quota", "few", "--hard=pods=1")
	refused("", "run", "single", "--image=registry/app:1") // 403
	kubectl("scale", "deployment/web", "--replicas=2")     // its ReplicaSet is refused
	kubectl("wait", "deployment/web", "--for=condition=ReplicaFailure", "--timeout=4m")
	kubectl("delete", "quota", "few")
	kubectl("delete", "deployment/web", "--wait=true")
	harness.Eventually(t, "nothing left in "+ns, func() bool {
		return bench.MustKubectl(t, "", "-n", ns, "get", "replicasets,pods", "-o", "name") == ""
	})
}

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry/app:1"}]}
`

const secret = `apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {password: not-to-be-kept}
`

// logged returns what the audit log has of a namespace, which must be of that
// level, and counts answers to writes by their codes. Secrets are left out.
func logged(t *testing.T, ns, level string) (log []byte, codes map[int]int) {
	t.Helper()
	f, err := os.Open(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	codes = map[int]int{}
	in := bufio.NewReader(f)
	var out bytes.Buffer
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return out.Bytes(), codes // a line that is being written is not asked for
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.ObjectRef.Namespace != ns || e.ObjectRef.Resource == "secrets" {
			continue
		}
		if e.Level != level {
			t.Fatal(fmt.Errorf("an event of %s is of level %s", ns, e.Level))
		}
		codes[e.ResponseStatus.Code]++
		out.Write(line)
	}
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
