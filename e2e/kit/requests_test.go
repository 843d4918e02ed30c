// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// request is the audit event of a request to the API server.
type request struct {
	Verb      string    `json:"verb"`
	Stage     string    `json:"stage"`
	UserAgent string    `json:"userAgent"`
	URI       string    `json:"requestURI"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Object    *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

// what returns the verb, the resource and the subresource.
func (r *request) what() string {
	what := r.Verb + " " + r.Object.Resource
	if r.Object.Subresource != "" {
		what += "/" + r.Object.Subresource
	}
	return what
}

// ledger is the content of the API server's audit log.
type ledger struct {
	requests []request
	writes   []audit.Write
}

// window is a period of time.
type window struct{ from, to time.Time }

func (w window) holds(t time.Time) bool { return t.After(w.from) && t.Before(w.to) }

// during runs f, and returns the time of that.
func during(f func()) window {
	from := time.Now()
	f()
	return window{from, time.Now()}
}

// readLedger reads the log after all earlier requests are in it.
func readLedger(t *testing.T) ledger {
	t.Helper()
	ns := bench.Namespace(t)
	bench.MustKubectl(t, "", "-n", ns, "create", "configmap", "last")
	var l ledger
	harness.Eventually(t, "the last request in the audit log", func() bool {
		return bytes.Contains(tail(t), []byte("/namespaces/"+ns+"/configmaps?"))
	})
	text, err := os.ReadFile(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	if l.writes, err = audit.Read(bench.AuditLog()); err != nil {
		t.Fatal(err)
	}
	l.writes = stored.Attributed(l.writes)
	in := bufio.NewReaderSize(bytes.NewReader(text), 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return l
		}
		var r request
		if err := json.Unmarshal(withoutBodies(line), &r); err != nil {
			t.Fatalf("cannot read the audit log: %v: %s", err, line)
		}
		if r.Object != nil && r.Stage == "ResponseComplete" {
			l.requests = append(l.requests, r)
		}
	}
}

// tail returns the last MiB of the log.
func tail(t *testing.T) []byte {
	t.Helper()
	f, err := os.Open(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-1<<20), 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withoutBodies removes the objects of the request and the response from an event, its largest
// part.
func withoutBodies(line []byte) []byte {
	from := bytes.Index(line, []byte(`,"requestObject":`))
	if from < 0 {
		from = bytes.Index(line, []byte(`,"responseObject":`))
	}
	to := bytes.LastIndex(line, []byte(`,"requestReceivedTimestamp":`))
	if from < 0 || to < from {
		return line
	}
	return append(line[:from:from], line[to:]...)
}

// requested counts the requests of a user agent in a window, by the object's name and request.what.
func (l ledger) requested(s *subject, agent string, w window) map[string]map[string]int {
	count := map[string]map[string]int{}
	for _, r := range l.requests {
		if r.UserAgent != agent || !w.holds(r.Received) {
			continue
		}
		if count[r.Object.Name] == nil {
			count[r.Object.Name] = map[string]int{}
		}
		count[r.Object.Name][r.what()]++
	}
	return count
}

// stored counts the stored writes in the subject's namespace in a window, by name and resource. own
// selects the subject's writes, else those of all other writers.
func (l ledger) stored(s *subject, own bool, w window) map[string]map[string]int {
	count := map[string]map[string]int{}
	for _, r := range l.writes {
		if r.Namespace != s.ns || !w.holds(r.Received) || strings.HasPrefix(r.UserAgent, s.ns+"-") != own {
			continue
		}
		if count[r.Name] == nil {
			count[r.Name] = map[string]int{}
		}
		what := r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		count[r.Name][what]++
	}
	return count
}
