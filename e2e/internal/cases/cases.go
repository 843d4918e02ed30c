// SPDX-License-Identifier: Apache-2.0

// Package cases plays cases from public bug reports on a cluster and compares the whole text of
// `lifeline why`, and of other commands, with an expert's answer.
package cases

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Case is a situation on the cluster, in a separate namespace, and the answers about it. NS stands for the
// name of the namespace in all texts.
type Case struct {
	// Name is what the case is about, and Report the public report, such as "kubernetes/kubernetes#109627"; "" if
	// there is none.
	Name, Report string
	// Manifest is applied as the administrator; "" for nothing.
	Manifest string
	// Act does the rest; nil for nothing.
	Act func(p *Play)
	// Want are the answers.
	Want []Answer
	// Alone is true for a case that disturbs others, such as the cordon of a node.
	Alone bool
}

// Answer is the expected output of `lifeline why`.
type Answer struct {
	// Object is KIND/NAME.
	Object string
	// Text is the whole output, as Shown returns it.
	Text string
	// Code is the exit code.
	Code int
}

// Play is a case in its namespace.
type Play struct {
	*Case
	T      *testing.T
	Bench  *harness.Bench
	Server *harness.Server
	NS     string
}

// patience bounds the wait for an answer. The controllers of Kubernetes need up to a minute.
const patience = 2 * time.Minute

// Run plays the cases at the same time, then each of those that disturb others. One server reads the audit log.
func Run(t *testing.T, bench *harness.Bench, all []Case) {
	t.Helper()
	server := bench.Server(t, harness.ServerOptions{
		Config: "receivers: {audit: {logFile: " + bench.AuditLog() + "}}\n",
	})
	server.Start(t)
	for _, alone := range []bool{false, true} {
		t.Run(map[bool]string{false: "together", true: "alone"}[alone], func(t *testing.T) {
			for i := range all {
				if all[i].Alone != alone {
					continue
				}
				t.Run(all[i].Name, func(t *testing.T) {
					if !alone {
						t.Parallel()
					}
					p := &Play{Case: &all[i], T: t, Bench: bench, Server: server, NS: bench.Namespace(t)}
					p.play()
				})
			}
		})
	}
}

func (p *Play) play() {
	p.T.Helper()
	p.Bench.AwaitDefaults(p.T, p.NS)
	if p.Manifest != "" {
		p.Apply(p.Manifest)
	}
	if p.Act != nil {
		p.Act(p)
	}
	for _, want := range p.Want {
		p.Expect(want)
	}
}

// Expect asks about an object until the answer is the expected one.
func (p *Play) Expect(want Answer) {
	p.T.Helper()
	want.Text = strings.TrimPrefix(want.Text, "\n")
	text, code := "", 0
	// Not harness.Within: the failure shows the last answer. Each question is a process.
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if text, code = p.Why(want.Object); text == want.Text && code == want.Code {
			return
		}
	}
	p.T.Errorf("why %s:\ngot (exit code %d)\n%s\nwant (exit code %d)\n%s",
		want.Object, code, text, want.Code, want.Text)
}

// Why returns the output of `lifeline why` about an object, and the exit code.
func (p *Play) Why(object string) (text string, code int) {
	p.T.Helper()
	r := p.Lifeline("why", object, "-n", "NS")
	return p.Shown(r.Stdout + r.Stderr), r.Code
}

// Lifeline runs lifeline with the server of the cases.
func (p *Play) Lifeline(args ...string) harness.Result {
	p.T.Helper()
	return p.Bench.Do(p.T, harness.Call{
		Args: p.fill(args), Env: []string{"LIFELINE_SERVER=http://" + p.Server.APIAddress()},
	})
}

// Apply applies a manifest in the namespace.
func (p *Play) Apply(manifest string) {
	p.T.Helper()
	p.Bench.MustKubectl(p.T, p.fill([]string{manifest})[0], "-n", p.NS, "apply", "-f", "-")
}

// Kubectl runs kubectl in the namespace as the administrator.
func (p *Play) Kubectl(args ...string) string {
	p.T.Helper()
	return p.Bench.MustKubectl(p.T, "", append([]string{"-n", p.NS}, p.fill(args)...)...)
}

// AtEnd runs kubectl as the administrator after the case.
func (p *Play) AtEnd(args ...string) {
	args = p.fill(args)
	p.T.Cleanup(func() {
		if out, err := p.Bench.RunKubectl(context.WithoutCancel(p.T.Context()), nil, args...); err != nil {
			p.T.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	})
}

// As runs kubectl in the namespace as another user.
func (p *Play) As(user string, args ...string) string {
	p.T.Helper()
	return p.Kubectl(append([]string{"--as", user, "--as-group", "system:masters"}, args...)...)
}

// fill replaces the placeholder of the namespace.
func (p *Play) fill(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ReplaceAll(text, "NS", p.NS)
	}
	return out
}

// generated are texts that differ in each run, and what answers have instead.
var generated = []struct {
	text   *regexp.Regexp
	answer string
}{
	{regexp.MustCompile(` Before that, it waited .*\.`), ""}, // a wait may be too short to be seen
	{regexp.MustCompile(`\b(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\btrace [0-9a-f]{8,32}\b`), "trace ID"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(s|ms|m|h)\b`), "SOME"},
	{regexp.MustCompile(
		`\b([a-z]+(-[a-z]+)*)-([0-9][a-z0-9]{4,9}|[bcdf-hj-np-tv-xz0-9]{5,10})(-[a-z0-9]{5})?\b`), "$1-…"},
	{regexp.MustCompile(`\b([a-z]+)-[a-z0-9]{8,10}-[a-z0-9]{5}\b`), "$1-…"},
	{regexp.MustCompile(`slowest: .*? \(\d+ %\)`), "slowest: SOME"},
}

// Shown returns a text with NS, TIME, SOME (a duration, or the slowest work), "trace ID" and "…" in place of the
// texts that differ in each run.
func (p *Play) Shown(text string) string {
	text = strings.ReplaceAll(text, p.NS, "NS")
	for _, g := range generated {
		text = g.text.ReplaceAllString(text, g.answer)
	}
	return text
}
