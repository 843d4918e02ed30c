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

// plain replaces the parts of a command's output that differ between two runs of a story: IDs,
// times, lengths, shares, and generated names.
type plain struct {
	server     *harness.Server
	namespaces map[string]string
	// traces has the number of each trace, in order of their starts.
	traces map[string]int
}

// number assigns numbers to new traces.
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
	// starts are the times in headers, with the space in front.
	starts  = regexp.MustCompile(`(?:\n {2}| {3})\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+`)
	since   = regexp.MustCompile(`traces since [^()]+ \([^()]*\)`)
	shares  = regexp.MustCompile(` \d+%`)
	lengths = regexp.MustCompile(`(^|\s)\+?(~?\d+(\.\d+)?(ms|s)|~?\d+m\d*s?|<1m?s)(…?)([\s:]|$)`)
	bars    = regexp.MustCompile(` *[▏▕▇]+`)
	// paths matches critical paths. Their longest part differs between runs.
	paths = regexp.MustCompile(`critical path: .*\n( {15}.*\n)*`)
	// facts and more match the further lines of a header. Their number depends on the width of
	// lengths.
	facts = regexp.MustCompile(`\n {2}((?:trace|failed|waiting|converged|deleted|superseded|follows) )`)
	more  = regexp.MustCompile(`\n {2}([\w"])`)
	// components matches names that are cut because of wide lengths.
	components = regexp.MustCompile(`\b(deployment|replicaset)-con[a-z]*…`)
	branches   = regexp.MustCompile(`^[ │├└─]*`)
	blanks     = regexp.MustCompile(` {2,}`)
	// slowest matches the cell of the slowest work. It is kept only for the images in sure, whose
	// slowest work is always the same.
	slowest = regexp.MustCompile(`  (?:[^ \n]+ )+N%`)
	sure    = regexp.MustCompile(`example/(?:api|slow):`)
)

// text returns a result in plain text.
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
	out = since.ReplaceAllString(out, "traces since TIME")
	out = starts.ReplaceAllString(out, "")
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
