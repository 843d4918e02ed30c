// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// fixture is something that goes wrong in a separate namespace.
type fixture struct {
	// name says what goes wrong.
	name string
	// category is the reason to be found.
	category string
	// blamed is part of the sentence: the object to blame, and what it says about it.
	blamed string
	// object is what the user asks about, as KIND/NAME. NS is the namespace.
	object string
	// manifest is applied. IMAGE is a working image, REGISTRY its registry, NS the namespace.
	manifest string
	// act does the rest; nil for nothing.
	act func(p *play)
	// code is the exit code.
	code int
}

// play is a fixture in its namespace.
type play struct {
	*fixture
	t      *testing.T
	ns     string
	server *harness.Server
}

// fill replaces the placeholders.
func (p *play) fill(text string) string {
	image := bench.Image("app:v1")
	registry, _, _ := strings.Cut(image, "/")
	return strings.NewReplacer("IMAGE", image, "REGISTRY", registry, "NS", p.ns).Replace(text)
}

// kubectl runs kubectl in the namespace.
func (p *play) kubectl(args ...string) {
	p.t.Helper()
	for i := range args {
		args[i] = p.fill(args[i])
	}
	bench.MustKubectl(p.t, "", append([]string{"-n", p.ns}, args...)...)
}

// answer is what `lifeline why -o json` prints about one change.
type answer struct {
	State, Category, Reason, Note, Next string
	Before                              []string
}

// ask returns the newest answer and the exit code.
func (p *play) ask() (answer, int) {
	p.t.Helper()
	r := bench.Do(p.t, harness.Call{
		Args: []string{"why", p.fill(p.object), "-n", p.ns, "-o", "json"},
		Env:  []string{"LIFELINE_SERVER=http://" + p.server.APIAddress()},
	})
	var doc struct{ Answers []answer }
	if r.Code == 1 || json.Unmarshal([]byte(r.Stdout), &doc) != nil || len(doc.Answers) == 0 {
		return answer{Reason: strings.TrimSpace(r.Stderr)}, r.Code
	}
	a := doc.Answers[0]
	a.Reason = cmp.Or(a.Reason, a.Note)
	return a, r.Code
}

// patience bounds the wait for the reason: back-offs and deadlines of the kubelet and the controllers. The
// kubelet measures volumes every one to two minutes.
const patience = 4 * time.Minute

// TestReasons plays each fixture and waits for its reason.
func TestReasons(t *testing.T) {
	harness.Slow(t)
	// Only the audit log shows refused writes.
	server := bench.Server(t, harness.ServerOptions{
		Config: "receivers: {audit: {logFile: " + bench.Cluster.AuditLog() + "}}\n",
	})
	server.Start(t)
	all := slices.Concat(fixtures, projects)
	rows := make([]string, len(all), len(all)+len(alone))
	t.Run("play", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].name, func(t *testing.T) {
				t.Parallel()
				p := &play{fixture: &all[i], t: t, ns: fmt.Sprintf("r%02d", i), server: server}
				rows[i] = p.row(p.found())
			})
		}
	})
	for i := range alone {
		t.Run(alone[i].name, func(t *testing.T) {
			p := &play{fixture: &alone[i], t: t, ns: fmt.Sprintf("alone%02d", i), server: server}
			rows = append(rows, p.row(p.found()))
		})
	}
	t.Log("\n" + strings.Join(rows, "\n"))
	if *update && !strings.Contains(t.Name(), "#") {
		write(t, rows)
	}
}

// found plays the fixture and returns the last answer, and whether it is right.
func (p *play) found() (a answer, right bool) {
	p.t.Helper()
	bench.MustKubectl(p.t, "", "create", "namespace", p.ns)
	bench.AwaitDefaults(p.t, p.ns)
	if p.manifest != "" {
		bench.MustKubectl(p.t, p.fill(p.manifest), "-n", p.ns, "apply", "-f", "-")
	}
	if p.act != nil {
		p.act(p)
	}
	code := 0
	// Not harness.Within: the page has the last answer, also of a wrong row. Each question is a process.
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		a, code = p.ask()
		if a.Category == p.category && strings.Contains(a.Reason, p.fill(p.blamed)) && code == p.code {
			return a, true
		}
	}
	p.t.Errorf("got %q: %q (exit code %d), want %q: %q (exit code %d)", a.Category, a.Reason, code, p.category,
		p.fill(p.blamed), p.code)
	return a, false
}

// generated are texts that differ in each run, and what the page has instead.
var generated = []struct {
	text *regexp.Regexp
	page string
}{
	{regexp.MustCompile(`\b127\.0\.0\.1:\d{3,}`), "registry.example"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+`), "10.0.0.7"},
	{regexp.MustCompile(`\bweb-([a-z0-9]{5}|[a-z0-9]{8,10}(-[a-z0-9]{5})?)\b`), "web-…"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "0b3c…"},
	{regexp.MustCompile(`\b(long-)+web`), "long-…-web"},
	{regexp.MustCompile(`\bwork(-\d)?-[a-z0-9]{5}\b`), "work-…"},
	{regexp.MustCompile(`\|`), `\|`},
}

// shown returns a text for the page.
func (p *play) shown(text string) string {
	for _, g := range generated {
		text = g.text.ReplaceAllString(text, g.page)
	}
	return strings.ReplaceAll(text, p.ns, "shop")
}

// row is the row of the page.
func (p *play) row(a answer, right bool) string {
	mark := "yes"
	if !right {
		mark = "**no**"
	}
	next := p.shown(a.Next)
	if next != "" {
		next = "`" + next + "`"
	}
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s |", p.name, p.category, p.shown(a.Reason), next, mark)
}

// page is the page of reasons; title is that of its measured part.
const (
	page  = "../../docs/reasons.md"
	title = "\n## Measured on a real node\n"
)

// write replaces the measured part of the page.
func write(t *testing.T, rows []string) {
	t.Helper()
	file := filepath.FromSlash(page)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(old), title)
	text := head + title + `
` + "`make reasons`" + ` makes each of these go wrong on a real node and asks ` + "`lifeline why -o json`" + `
until it says why, for at most four minutes. The controllers of other projects do not run: their
objects have a status as these controllers write it. The test also writes the Event of a missed
start: Kubernetes 1.36 itself starts a Job in the same moment.

| what goes wrong | category | the sentence | next | right |
| --- | --- | --- | --- | --- |
` + strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
