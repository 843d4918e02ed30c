// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	page  = "../../docs/accuracy.md"
	title = "\n## Kubernetes' own tests\n"
)

// report is the part of docs/accuracy.md.
type report struct {
	tests, kills int
	rows         []string
}

// add adds the row of a server.
func (r *report) add(name string, v *verdict) {
	r.rows = append(r.rows, fmt.Sprintf("| %s | %d of %d | %d | %d | %d | %d | %d | %d | %d |", name, v.placed, v.all,
		v.series, v.right, v.unknown, v.wrong, len(v.faults[alone]), len(v.faults[differs]), v.known))
}

func (r *report) text() string {
	return fmt.Sprintf(`
`+"`make upstream`"+` writes this part. It builds %s from the Go modules of Kubernetes 1.37, and
runs %d of its tests, unmodified, on fake nodes, in %d processes as %d users. They test workloads,
the garbage collector, quotas, namespaces, server-side apply, definitions of kinds, admission
policies and disruption budgets. `+"`e2e/upstream/groups_test.go`"+` has the expressions that choose them,
and the reason for each test that is left out. The fourth server was killed %d times.

- Each audited write of desired state is in exactly one trace.
- A controller's own trace has a cause or a link.
- The traces have the same IDs, outcomes and writes of desired state, with their verbs, as those of the
  first server. By watch alone, a deletion has no author, and some writes of two authors look alike. So
  effects may be changes of their own there, and the other way round.
- The fourth server misses changes of objects that end while it is down: at most 1 %% of the writes.

| server | in exactly one trace | in a series | authors right | unknown | wrong | alone | other traces | known |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
%s

The last column counts what is known:

%s`, "`e2e.test`", r.tests, len(groups), len(groups), r.kills, strings.Join(r.rows, "\n"), reasons())
}

// reasons lists the known faults.
func reasons() string {
	var b strings.Builder
	for _, f := range known {
		fmt.Fprintf(&b, "- %s\n", f.reason)
	}
	return b.String()
}

// write replaces the part.
func (r *report) write(t *testing.T) {
	t.Helper()
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(old), title)
	_, after, found := strings.Cut(rest, "\n## ")
	if found {
		after = "\n## " + after
	}
	if err := os.WriteFile(page, []byte(before+title+r.text()+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
