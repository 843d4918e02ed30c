// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// page is the report.
const page = "../../docs/accuracy.md"

// The parts of the page, by the nodes of their cluster.
const (
	fakeNodes = "Fake nodes"
	realNode  = "A real node"
)

// report is the verdicts of all servers on all scenarios of a part.
type report struct {
	part      string
	scenarios []played
	names     []string
	verdicts  [][]verdict
}

func (r *report) add(name string, v []verdict) {
	r.names = append(r.names, name)
	r.verdicts = append(r.verdicts, v)
}

// sum is one server's row.
type sum struct {
	// scenarios counts those that are right.
	scenarios, right, wrong, none int

	names [3]int
}

func (r *report) sum(observer int) sum {
	var s sum
	for i := range r.verdicts[observer] {
		v := &r.verdicts[observer][i]
		if v.ok() {
			s.scenarios++
		}
		s.right, s.wrong, s.none = s.right+v.right, s.wrong+v.wrong, s.none+v.none
		for j, n := range v.names {
			s.names[j] += n
		}
	}
	return s
}

// log prints what each server got wrong.
func (r *report) log(t *testing.T) {
	t.Helper()
	for o, name := range r.names {
		s := r.sum(o)
		t.Logf(
			"%s: %d of %d scenarios right; writes: %d right, %d wrong, %d in none; names: %d right, %d unknown, "+
				"%d wrong",
			name,
			s.scenarios,
			len(r.scenarios),
			s.right,
			s.wrong,
			s.none,
			s.names[rightName],
			s.names[noName],
			s.names[wrongName],
		)
		for i := range r.scenarios {
			v := &r.verdicts[o][i]
			for what, list := range map[string][]string{
				"missing": v.missing, "surplus": v.surplus, "in no trace": v.lost, "in a wrong trace": v.misplaced,
				"wrong name": v.misnamed,
			} {
				for _, line := range list {
					t.Logf("  %s: %s: %s", r.scenarios[i].name, what, strings.ReplaceAll(line, r.scenarios[i].ns, "NS"))
				}
			}
		}
	}
}

// require fails the test if a server is worse than it was.
func (r *report) require(t *testing.T, observer int, audited bool) {
	t.Helper()
	s := r.sum(observer)
	switch writes := s.right + s.wrong + s.none; {
	case s.names[wrongName] > 0:
		t.Errorf("%s: %d changes have a wrong author", r.names[observer], s.names[wrongName])
	case audited && s.scenarios < len(r.scenarios):
		t.Errorf("%s: %d of %d scenarios are right", r.names[observer], s.scenarios, len(r.scenarios))
	case s.wrong > 0:
		t.Errorf("%s: %d writes are in a wrong trace", r.names[observer], s.wrong)
	case s.right*100 < writes*99:
		t.Errorf("%s: %d of %d writes are in the right trace", r.names[observer], s.right, writes)
	}
}

// write replaces its part of docs/accuracy.md.
func (r *report) write(t *testing.T) {
	t.Helper()
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := head
	for _, part := range []string{fakeNodes, realNode, "Kubernetes' own tests"} { // the last one is of e2e/upstream
		title := "\n## " + part + "\n"
		_, body, found := strings.Cut(string(old), title)
		body, _, _ = strings.Cut(body, "\n## ")
		if part == r.part {
			body, found = r.text(), true
		}
		if found {
			text += title + body
		}
	}
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// text is the part of the page, without its title.
func (r *report) text() string {
	var b strings.Builder
	b.WriteString("\n| server | scenarios right | writes in the right trace | in a wrong one | in none | " +
		"authors right | unknown | wrong |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for o, name := range r.names {
		s := r.sum(o)
		writes := s.right + s.wrong + s.none
		fmt.Fprintf(&b, "| %s | %d of %d | %d of %d (%.1f %%) | %d | %d | %d | %d | %d |\n", name, s.scenarios,
			len(r.scenarios), s.right, writes, 100*float64(s.right)/float64(writes), s.wrong, s.none,
			s.names[rightName], s.names[noName], s.names[wrongName])
	}
	fmt.Fprintf(&b, "\n| scenario | changes | %s |\n| --- | --- |%s\n", strings.Join(r.names, " | "),
		strings.Repeat(" --- |", len(r.names)))
	for i := range r.scenarios {
		sc := r.scenarios[i].scenario
		var marks []string
		for o := range r.names {
			mark := "yes"
			if !r.verdicts[o][i].ok() {
				mark = "**no**"
			}
			marks = append(marks, mark)
		}
		lines := append(append([]string(nil), sc.want...), sc.refusals...)
		if len(lines) == 0 {
			lines = []string{"none"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", sc.name, strings.Join(lines, "<br>"), strings.Join(marks, " | "))
	}
	return strings.ReplaceAll(b.String(), "converged|superseded", "converged or superseded")
}

const head = `# Accuracy

` + "`make accuracy`" + ` writes this page. Several people play scenarios on two clusters with a real
Kubernetes 1.37 control plane: one with fake nodes, one with a real node (kubelet, containerd,
runc). The first has add-ons: Helm, Flux, Argo CD, cert-manager, the core of Cluster API with a
scripted provider, and an aggregated API with a separate storage. The scenarios themselves make the
writes of Tekton, Kueue and Crossplane. Each scenario states its changes and their effects before it
is played, in ` + "`e2e/accuracy`" + `. Three servers watch each cluster: one with the API server's audit log
at level RequestResponse, one with the log at level Metadata (the same log without bodies), one by
watch alone. The audit log then says who wrote what. The last columns of the lists of scenarios say
whether a server has all of a scenario right.

- A scenario is **right** if its traces are the stated changes, with the stated outcomes and
  effects, no write is missing or misplaced, and no author is wrong.
- A **write** is a stored write to desired state: a creation, the start of a deletion, a change
  outside the status, or a change of labels or annotations by a person.
- An **effect** is such a write to another object. A Kustomization of Flux that begins to apply a
  revision counts as updated.
- Copies of a field from another object into a spec are no writes here: the result of binding, and
  an address or ID from a provider of Cluster API. An update of the object in which Helm stores a
  revision is its status.
- Secrets are left out: by default a server has no right to read them. So these servers see a
  revision of Helm only in a ConfigMap (` + "`HELM_DRIVER=configmap`" + `). With Secrets, each object is a
  change. With ` + "`watch.secretMetadata`" + ` the revision is one (` + "`e2e/addons: TestHelmSecrets`" + `).
- The API server's log has no answers of an aggregated API. The log of that API is the judge there.
- An **author** is right if the trace names the user of the audit log. By watch alone a trace names
  the program (the field manager). An unknown author is not wrong: a deletion, for example, leaves
  no mark.
`
