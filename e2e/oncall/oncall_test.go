// SPDX-License-Identifier: Apache-2.0

package oncall

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// The times of the looks after the breakages, and that of the notices. A retry and a restart of the server are between
// the two looks.
const (
	firstLook  = 6 * time.Minute
	retries    = 7 * time.Minute
	restart    = 8 * time.Minute
	secondLook = 12 * time.Minute
	noticed    = 5 * time.Minute
)

// slack bounds the time between a breakage and the beginning of its problem: an autoscaler looks every 15 s.
const slack = 45 * time.Second

// play is a breakage in its namespace.
type play struct {
	*breakage
	t      *testing.T
	server *harness.Server
	began  time.Time
	// looks are the problems at the two looks.
	looks [2]problem
	why   string
}

// problem is one of `lifeline why -o json`.
type problem struct {
	ID, Category, Reason string
	Since                time.Time
	Before               bool
	Count                int
	Cause                *struct{ Who string }
	Next                 string
	age                  time.Duration
}

// as runs kubectl in the namespace as jane.
func (p *play) as(args ...string) {
	p.t.Helper()
	p.apply("", args...)
}

// apply is as with a standard input.
func (p *play) apply(stdin string, args ...string) {
	p.t.Helper()
	as := []string{"--as", "jane", "--as-group", "system:masters", "-n", p.name}
	bench.MustKubectl(p.t, stdin, append(as, args...)...)
}

// lifeline runs a command with the server, and decodes its JSON.
func (p *play) lifeline(into any, args ...string) int {
	p.t.Helper()
	r := bench.Do(p.t, harness.Call{
		Args: append(args, "-n", p.name, "-o", "json"),
		Env:  []string{"LIFELINE_SERVER=http://" + p.server.APIAddress()},
	})
	if err := json.Unmarshal([]byte(r.Stdout), into); err != nil {
		p.t.Errorf("lifeline %s: exit code %d, %v\n%s%s", strings.Join(args, " "), r.Code, err, r.Stdout, r.Stderr)
	}
	return r.Code
}

// prepare makes what works before the breakage.
func (p *play) prepare() {
	bench.MustKubectl(p.t, "", "create", "namespace", p.name)
	bench.AwaitDefaults(p.t, p.name)
	if p.before == "" {
		return
	}
	p.apply(p.before, "apply", "-f", "-")
	if strings.Contains(p.before, "kind: Deployment") {
		p.as("rollout", "status", "deployment/web", "--timeout=120s")
	} else {
		bench.MustKubectl(p.t, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	}
}

// destroy breaks it.
func (p *play) destroy() {
	p.began = time.Now()
	if p.first != nil {
		p.first(p)
	}
	if p.manifest != "" {
		p.apply(p.manifest, "apply", "-f", "-")
	}
	if p.command != nil {
		p.as(p.command...)
	}
	if p.then != nil {
		p.then(p)
	}
}

// look notes the problem of the namespace. More than one is an error.
func (p *play) look(n int) {
	var list struct {
		AsOf     time.Time
		Problems []problem
	}
	code := p.lifeline(&list, "why")
	if len(list.Problems) != 1 || code != 3 {
		p.t.Errorf("%s: got %d problems (exit code %d), want one: %+v", p.what, len(list.Problems), code, list.Problems)
		return
	}
	p.looks[n] = list.Problems[0]
	p.looks[n].age = list.AsOf.Sub(p.looks[n].Since)
}

// ask notes the answer of `lifeline why` about the object.
func (p *play) ask() {
	var doc struct {
		Answers []struct{ Category, Reason string }
	}
	p.lifeline(&doc, "why", p.object)
	if len(doc.Answers) == 0 {
		p.t.Errorf("%s: no answer about %s", p.what, p.object)
		return
	}
	p.why = doc.Answers[0].Reason
	if got := doc.Answers[0].Category; got != p.category {
		p.t.Errorf("%s: why %s has category %q, want %q: %s", p.what, p.object, got, p.category, p.why)
	}
}

// check compares both looks.
func (p *play) check() {
	first, second := p.looks[0], p.looks[1]
	for _, got := range p.looks {
		if got.Category != p.category || got.Before || got.Count != max(1, p.objects) {
			p.t.Errorf("%s: got problem %+v, want category %s and a known beginning", p.what, got, p.category)
		}
		if late := got.Since.Sub(p.began); late < -2*time.Second || late > slack {
			p.t.Errorf("%s: the problem began %s after the breakage", p.what, late)
		}
	}
	if first.ID != second.ID || !first.Since.Equal(second.Since) {
		p.t.Errorf("%s: problem %s since %s became problem %s since %s", p.what, first.ID, first.Since, second.ID,
			second.Since)
	}
	if second.Cause == nil || second.Cause.Who != "jane" {
		p.t.Errorf("%s: the cause is %+v, and not jane", p.what, second.Cause)
	}
}

// hook is a receiver of notices.
type hook struct {
	mu  sync.Mutex
	got []notice
}

type notice struct {
	Type, Subject string
	Data          struct{ Problem, Category, Reason string }
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n notice
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, n)
}

// about returns the types of the notices about a namespace, in order.
func (h *hook) about(namespace string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, n := range h.got {
		if strings.Split(n.Subject+"//", "/")[1] == namespace {
			out = append(out, strings.TrimPrefix(n.Type, "dev.lifeline.problem."))
		}
	}
	return out
}

// TestOnCall: each breakage is one problem with one age, through the progress deadline, retries and a restart of the
// server, and has one notice; and one more when it is repaired.
func TestOnCall(t *testing.T) {
	harness.Slow(t)
	h := &hook{}
	receiver := httptest.NewServer(h)
	defer receiver.Close()
	server := bench.Server(t, harness.ServerOptions{Config: fmt.Sprintf(`receivers: {audit: {logFile: %s}}
notices:
  after: %s
  receivers: [{name: hook, format: cloudevents, url: "%s/", types: [problem.started, problem.resolved]}]
`, bench.Cluster.AuditLog(), noticed, receiver.URL)})
	server.Start(t)
	plays := make([]*play, len(breakages))
	for i := range breakages {
		plays[i] = &play{breakage: &breakages[i], t: t, server: server}
		plays[i].prepare()
	}
	began := time.Now()
	for _, p := range plays {
		p.destroy()
	}
	until(t, plays, began.Add(firstLook))
	for _, p := range plays {
		p.look(0)
		p.ask()
	}
	until(t, plays, began.Add(retries))
	for _, p := range plays {
		if p.retry != nil {
			p.as(p.retry...)
		}
	}
	until(t, plays, began.Add(restart))
	server.Kill(t)
	server.Start(t)
	until(t, plays, began.Add(secondLook))
	shown := bench.Do(t, harness.Call{
		Args: []string{"why", "-A"}, Env: []string{"LIFELINE_SERVER=http://" + server.APIAddress()},
	})
	t.Logf("lifeline why -A: exit code %d\n%s%s", shown.Code, shown.Stdout, shown.Stderr)
	rows := make([]string, 0, len(plays))
	for _, p := range plays {
		p.look(1)
		p.check()
		got := h.about(p.name)
		if !slices.Equal(got, []string{"started"}) {
			t.Errorf("%s: got the notices %q, want one", p.what, got)
		}
		rows = append(rows, p.row(got))
	}
	t.Log("\n" + strings.Join(rows, "\n"))
	repairAll(t, plays, h)
	if *update {
		write(t, rows)
	}
}

// repairAll ends the problems, and waits for their notices.
func repairAll(t *testing.T, plays []*play, h *hook) {
	t.Helper()
	for _, p := range plays {
		if p.repair != nil {
			p.as(p.repair...)
		} else {
			bench.MustKubectl(t, "", "delete", "namespace", p.name, "--wait=false")
		}
	}
	for _, p := range plays {
		harness.Within(t, 4*time.Minute, "the notice of the end of "+p.what, func() bool {
			return slices.Equal(h.about(p.name), []string{"started", "resolved"})
		})
	}
}

// until waits for a time of the test, and repeats each minute what a kubelet repeats.
func until(t *testing.T, plays []*play, at time.Time) {
	t.Helper()
	for {
		select {
		case <-time.After(min(time.Minute, time.Until(at))):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
		if !time.Now().Before(at) {
			return
		}
		for _, p := range plays {
			if p.again != nil {
				p.again(p)
			}
		}
	}
}

// row is the row of the page.
func (p *play) row(notices []string) string {
	age := func(n int) string {
		if p.looks[n].ID == "" {
			return "**none**"
		}
		return p.looks[n].age.Round(time.Second).String()
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", p.what, shown(p.why), age(0), age(1), strings.Join(notices, ", "))
}
