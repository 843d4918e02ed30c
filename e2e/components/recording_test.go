// SPDX-License-Identifier: Apache-2.0

package components

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// recordings is the directory of the tests that use them.
const recordings = "../../app/internal/stitch/testdata"

// recording has the data of a few seconds in one namespace: the components'
// spans, the audit log, and Lifeline's observations.
type recording struct {
	namespace string
	began     time.Time
	// observations is where lifeline records.
	observations string
	// auditFrom is how long the audit log was.
	auditFrom int64
	// ended is until when everything that the components told is in exports;
	// what they did later may be there or not.
	ended   time.Time
	exports []harness.Export
}

// calm waits until the namespaces of other tests are gone.
func calm(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "the end of other namespaces", func() bool {
		return !strings.Contains(
			bench.MustKubectl(t, "", "get", "namespaces", "-o", "jsonpath={.items[*].status.phase}"),
			"Terminating",
		)
	})
}

// begin begins a recording in a namespace where nothing happens yet.
func begin(t *testing.T, namespace string) *recording {
	t.Helper()
	r := &recording{namespace: namespace, observations: filepath.Join(t.TempDir(), "observations.jsonl")}
	flush(t) // what was before is not of this recording
	info, err := os.Stat(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	r.auditFrom, r.began = info.Size(), time.Now()
	collector.KeepExports()
	return r
}

// observe lets lifeline record what it sees, until the function it returns is
// called.
func (r *recording) observe(t *testing.T) (end func()) {
	t.Helper()
	p := bench.Begin(t, harness.Call{Args: []string{"record", r.observations, "-n", r.namespace}})
	p.AwaitStderr(t, "; Ctrl-C ends it")
	return func() {
		p.Signal(t, syscall.SIGINT)
		if res := p.Wait(t); res.Code != 0 {
			t.Fatalf("%s: exit code %d\n%s", p, res.Code, res.Stderr)
		}
	}
}

// end waits for what is under way, and for its spans.
func (r *recording) end(t *testing.T) {
	t.Helper()
	r.ended = flush(t)
	r.exports = collector.Exports()
	r.checkFacts(t)
}

// flush waits until each component has sent whatever had ended by the time that
// it returns.
func flush(t *testing.T) time.Time {
	t.Helper()
	// A component sends its spans in the order of their ends. kubelet and
	// containerd never rest; API server and etcd have this to tell.
	now := time.Now()
	bench.MustKubectl(t, "", "get", "namespace", "default")
	for _, service := range []string{"apiserver", "etcd", "kubelet", "containerd"} {
		collector.Await(t, 1, func(s *harness.Span) bool { return s.Service == service && s.Start.After(now) })
	}
	return now
}

// save writes the recording's files; restless traces only where they are asked
// for.
func (r *recording) save(t *testing.T, name string, noise bool) {
	t.Helper()
	dir := t.TempDir()
	if *update {
		dir = recordings
	}
	file := func(what string) string { return filepath.Join(dir, "recording-"+name+"."+what+".jsonl.gz") }
	pack(t, file("otlp"), r.spans(t, noise))
	pack(t, file("audit"), r.audit(t))
	text, err := os.ReadFile(r.observations)
	if err != nil {
		t.Fatal(err)
	}
	pack(t, file("observations"), text)
}

func (r *recording) spans(t *testing.T, noise bool) []byte {
	t.Helper()
	var all []*harness.Span
	for _, e := range r.exports {
		all = slices.AppendSeq(all, e.Spans())
	}
	quiet := map[string]bool{}
	for _, tr := range harness.Group(all) {
		quiet[tr.ID] = !noise && restless(tr)
	}
	var text []byte
	for _, e := range r.exports {
		e, left := e.Without(func(s ptrace.Span) bool { return quiet[s.TraceID().String()] })
		if left == 0 {
			continue
		}
		var err error
		if text, err = e.AppendJSON(text); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// audit returns what the audit log says of the recording's time.
func (r *recording) audit(t *testing.T) []byte {
	t.Helper()
	log, err := os.Open(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Seek(r.auditFrom, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for line := range bytes.Lines(text) {
		var e struct{ StageTimestamp time.Time }
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("cannot read the audit log: %v", err)
		}
		if e.StageTimestamp.Before(r.ended) {
			out = append(out, line...)
		}
	}
	return out
}

// pack writes a compressed file, the same for the same text.
func pack(t *testing.T, file string, text []byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"%s: %d lines, %d bytes, %d packed",
		filepath.Base(file),
		bytes.Count(text, []byte("\n")),
		len(text),
		out.Len(),
	)
}
