// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// plain replaces in what commands print all that differs between two runs of
// the same story: IDs, times, lengths, shares, and the names that Kubernetes
// makes up.
type plain struct {
	server     *harness.Server
	namespaces map[string]string
	// traces are the numbers of traces, in the order in which they began.
	traces map[string]int
}

// number gives the traces that are new numbers.
func (p *plain) number(t *testing.T) {
	t.Helper()
	all := p.server.List(t, nil)
	slices.Reverse(all)
	for _, s := range all {
		if p.traces[s.TraceID] == 0 {
			p.traces[s.TraceID] = len(p.traces) + 1
		}
	}
}

var (
	madeUp  = regexp.MustCompile(`\b[a-z]+-[0-9a-f]{8,10}(-[a-z0-9]{5})?\b`)
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	shares  = regexp.MustCompile(` \d+%`)
	lengths = regexp.MustCompile(`(^|\s)\+?(~?\d+(\.\d+)?(ms|s)|~?\d+m\d*s?|<1m?s)(…?)([\s:]|$)`)
	bars    = regexp.MustCompile(` *[▏▕▇]+`)
	// paths are summed up: which part is the greatest is a matter of the day.
	paths = regexp.MustCompile(`critical path: .*\n( {15}.*\n)*`)
	// facts and more are what stands in further lines of a header where one is
	// too narrow: that depends on how long lengths are.
	facts = regexp.MustCompile(`\n {2}((?:trace|failed|waiting|converged|deleted|superseded|follows) )`)
	more  = regexp.MustCompile(`\n {2}([\w"])`)
	// components are cut where lengths are long.
	components = regexp.MustCompile(`\b(deployment|replicaset)-con[a-z]*…`)
	branches   = regexp.MustCompile(`^[ │├└─]*`)
	blanks     = regexp.MustCompile(` {2,}`)
	// slowest is what took longest, where the story sees to that.
	slowest = regexp.MustCompile(`  (?:[^ \n]+ )+N%`)
	sure    = regexp.MustCompile(`example/(?:api|slow):`)
)

// text is a result in plain text.
func (p *plain) text(t *testing.T, r harness.Result) string {
	t.Helper()
	out := r.Stdout
	if r.Stderr != "" {
		out += "-- stderr --\n" + r.Stderr
	}
	if r.Code != 0 {
		out += fmt.Sprintf("-- exit code %d --\n", r.Code)
	}
	for namespace, name := range p.namespaces {
		names := bench.NamesIn(t, namespace)
		out = madeUp.ReplaceAllStringFunc(out, names.Of)
		out = strings.ReplaceAll(out, namespace, name)
	}
	for id, n := range p.traces {
		mark := fmt.Sprintf("TRACE-%d", n)
		out = strings.ReplaceAll(strings.ReplaceAll(out, id, mark), id[:8], mark)
	}
	out = strings.ReplaceAll(out, "http://"+p.server.APIAddress(), "SERVER")
	out = paths.ReplaceAllString(out, "critical path: …\n")
	out = moments.ReplaceAllString(out, "TIME")
	out = shares.ReplaceAllString(out, " N%")
	out = bars.ReplaceAllString(out, "")
	for range 2 { // two lengths may share the blank between them
		out = lengths.ReplaceAllString(out, "${1}TOOK$5$6")
	}
	out = components.ReplaceAllString(out, "$1-controller")
	out = more.ReplaceAllString(facts.ReplaceAllString(out, "   $1"), " $1")
	var lines strings.Builder
	for line := range strings.Lines(out) {
		tree := branches.FindString(line)
		lines.WriteString(tree + strings.TrimSpace(blanks.ReplaceAllString(line[len(tree):], "  ")) + "\n")
	}
	return slowest.ReplaceAllStringFunc(lines.String(), func(cell string) string {
		if sure.MatchString(cell) {
			return cell
		}
		return "  SLOWEST N%"
	})
}
