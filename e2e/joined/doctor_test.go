// SPDX-License-Identifier: Apache-2.0

package joined

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// finding is an expected check of `lifeline doctor`: its status, a part of its finding, and a part
// of the lines to add. An empty field matches anything. A check with status ok has no lines to add.
type finding struct{ status, found, add string }

// anyCode means that the exit code depends on chance.
const anyCode = -1

// report is the JSON output of `lifeline doctor`.
type report struct {
	Checks []struct {
		Name, Status, Found, Lose string
		Add                       []struct{ Where, Text string }
	}
}

// doctor runs `lifeline doctor` for a server.
func doctor(t *testing.T, s *harness.Server, more ...string) harness.Result {
	t.Helper()
	return bench.Exec(
		t,
		append(
			[]string{"doctor", "--server", "http://" + s.APIAddress(), "--telemetry", "http://" + s.TelemetryAddress()},
			more...)...)
}

// counted waits until a server has counted for a minute. Only then does a missing span prove
// something. It does not poll doctor, which sends many requests to the API server.
func counted(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.Eventually(t, "a minute of counts", func() bool {
		var from struct {
			Received struct{ AsOf, Since time.Time }
		}
		s.API(t, "sources", &from)
		return from.Received.AsOf.Sub(from.Received.Since) >= time.Minute
	})
}

// examine waits until doctor returns the code and the findings. If a finding depends on missing or
// sampled spans, it first waits until the server has counted long enough.
func examine(t *testing.T, s *harness.Server, code int, want map[string]finding) {
	t.Helper()
	judged := func(f finding) bool { return f.status == "missing" || strings.Contains(f.found, "samples") }
	if slices.ContainsFunc(slices.Collect(maps.Values(want)), judged) {
		counted(t, s)
	}
	var last harness.Result
	var wrong []string
	defer func() {
		if len(wrong) > 0 {
			t.Errorf("lifeline doctor, code %d: %s\n%s", last.Code, strings.Join(wrong, "\n"), doctor(t, s).Stdout)
		}
	}()
	harness.Eventually(t, "the findings of lifeline doctor", func() bool {
		last, wrong = doctor(t, s, "-o", "json"), nil
		var r report
		if err := json.Unmarshal([]byte(last.Stdout), &r); err != nil {
			wrong = append(wrong, err.Error())
			return false
		}
		if code != anyCode && last.Code != code {
			wrong = append(wrong, fmt.Sprintf("exit code %d, want %d", last.Code, code))
		}
		seen := 0
		for _, c := range r.Checks {
			f, wanted := want[c.Name]
			if !wanted {
				continue
			}
			seen++
			var add strings.Builder
			for _, lines := range c.Add {
				add.WriteString(lines.Text)
			}
			if f.status != "" && c.Status != f.status || !strings.Contains(c.Found, f.found) ||
				!strings.Contains(add.String(), f.add) ||
				c.Status == "ok" && add.Len() > 0 {
				wrong = append(wrong, fmt.Sprintf("%s is %s: %s\n%s; want %+v", c.Name, c.Status, c.Found, &add, f))
			}
		}
		if seen != len(want) {
			wrong = append(wrong, fmt.Sprintf("%d of %d checks are in the report", seen, len(want)))
		}
		return len(wrong) == 0
	})
	for _, line := range strings.Split(doctor(t, s).Stdout, "\n") {
		if line == "" {
			break
		}
		t.Log(line)
	}
}

// hide creates a Secret, and returns its value.
func hide(t *testing.T, ns string) string {
	t.Helper()
	value := fmt.Sprintf("hidden-%016x%016x", rand.Uint64(), rand.Uint64())
	bench.MustKubectl(t, "", "-n", ns, "create", "secret", "generic", "hidden-name", "--from-literal=password="+value)
	return value
}

// reveals checks that a bundle has its files, and no private data in them: nothing of a Secret, of
// the caller's credentials, of manifests or traces.
func reveals(t *testing.T, s *harness.Server, ns, secret string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	if r := doctor(t, s, "--bundle", path); r.Code == 1 {
		t.Fatalf("lifeline doctor --bundle: %s", r.Stderr)
	}
	conf, err := clientcmd.LoadFromFile(bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{secret, "hidden-name", ns, "PRIVATE KEY", "BEGIN CERTIFICATE", "system:masters", `"admin"`}
	for _, user := range conf.AuthInfos {
		hidden = append(hidden, string(user.ClientKeyData), string(user.ClientCertificateData))
	}
	for _, text := range slices.Clone(hidden) {
		hidden = append(hidden, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	files := unpack(t, path)
	for name, text := range files {
		for _, h := range hidden {
			if bytes.Contains(text, []byte(h)) {
				t.Errorf("%s in the bundle contains private data: %.40q", name, h)
			}
		}
	}
	for _, name := range []string{"report.txt", "report.json", "configuration.json", "metrics.txt"} {
		if len(files["lifeline-doctor/"+name]) == 0 {
			t.Errorf("the bundle has no %s", name)
		}
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for archive := tar.NewReader(packed); ; {
		head, err := archive.Next()
		if err == io.EOF { //nolint:errorlint // as tar.Reader has it
			return out
		}
		if err == nil {
			out[head.Name], err = io.ReadAll(archive)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
