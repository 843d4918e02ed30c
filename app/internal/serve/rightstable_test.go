// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
)

// rightsPage is the table of all paths, users and answers.
const rightsPage = "../../../docs/rights-table.md"

// asks has the parameters for paths, one request each. A path without them is asked as it is.
var asks = map[string][]string{
	"/api/v1/groups":                {"?by=name"},
	"/api/v1/compare":               {"?where=true&and=true"},
	"/api/v1/traces/{traceID}":      {"", "?format=perfetto", "?format=mermaid", "?format=html"},
	"/api/v1/traces/{traceID}/find": {"?text=mark"},
	"/api/v3/operations":            {"?service=kubelet"},
	"/api/v3/traces":                {jaegerTimes},
	"/api/v3/trace-summaries":       {jaegerTimes},
	"/api/operations":               {"?service=kubelet"},
	"/api/traces":                   {"?service=deployment-controller"},
}

const jaegerTimes = "?query.start_time_min=2026-03-01T00:00:00Z&query.start_time_max=2026-03-02T00:00:00Z"

// line is a line of the table: paths with the same answers.
type line struct {
	paths []string
	cells []string
}

// section is a part of the table.
type section struct {
	title, text string
	lines       []line
}

func (s *section) add(path string, cells []string) {
	i := slices.IndexFunc(s.lines, func(l line) bool { return slices.Equal(l.cells, cells) })
	if i < 0 {
		i = len(s.lines)
		s.lines = append(s.lines, line{cells: cells})
	}
	s.lines[i].paths = append(s.lines[i].paths, path)
}

// TestRightsTable asks each path as each visitor. No answer has the name of a hidden object. A hidden change has the
// answer of an absent one. The kinds of the answers are those of docs/rights-table.md; -update rewrites it.
func TestRightsTable(t *testing.T) {
	s := visit(t)
	sections := []*section{s.lists(t)}
	for _, of := range []string{ofA, ofB, ofBoth, ofSecret, ofNode, ofNothing} {
		sections = append(sections, s.change(t, of))
	}
	compare(t, pageOf(append(sections, s.kubectl(t))))
}

// lists asks the paths of no single change.
func (s *visited) lists(t *testing.T) *section {
	out := &section{title: "Lists and streams", text: "At the server itself: by a token, a certificate or a proxy.\n" +
		"Through the API server, `visiblechanges/-/PATH` has the answer of `/api/v1/PATH`."}
	for _, e := range kubeapi.Endpoints() {
		if strings.Contains(e.Path, "{traceID}") {
			continue
		}
		path := strings.Replace(e.Path, "{service...}", "kubelet/operations", 1)
		for _, query := range queries(e.Path) {
			cells := cellsOf(s.row(t, path+query), nil)
			out.add(path, cells)
			behind, ours := strings.CutPrefix(path, apiPrefix)
			switch {
			case !ours || behind == "runs": // not offered through the API server
			case behind == "watch":
				s.same(t, "visiblechanges?watch=true&stream=watch", cells, nil)
			case behind == "problems/stream":
				s.same(t, "visiblechanges?watch=true&stream=problems", cells, nil)
			default:
				s.same(t, "visiblechanges/-/"+behind+query, cells, nil)
			}
		}
	}
	return out
}

// change asks the paths of one change.
func (s *visited) change(t *testing.T, of string) *section {
	out := &section{title: "A change of " + of}
	switch of {
	case ofNothing:
		out.title = "A change that does not exist"
	case ofBoth:
		out.text = "The step at `/spans/STEP` is that of the Pod of a."
	}
	for _, e := range kubeapi.Endpoints() {
		if !strings.Contains(e.Path, "{traceID}") {
			continue
		}
		for _, query := range queries(e.Path) {
			cells, none := s.compared(t, of, "", e.Path+query)
			out.add(generic.Replace(e.Path)+query, cells)
			if behind, ours := strings.CutPrefix(e.Path, apiPrefix); ours {
				s.same(t, "visiblechanges/-/"+s.ids(of).Replace(behind)+query, cells, none)
			}
		}
	}
	through := []string{"visiblechanges/{traceID}"}
	for _, namespace := range []string{namespaceA, namespaceB} {
		one := "namespaces/" + namespace + "/changes/{traceID}"
		through = append(through, one, one+"/document")
		for _, e := range kubeapi.Endpoints() {
			if rest, is := strings.CutPrefix(e.Path, apiPrefix+"traces/{traceID}/"); is {
				through = append(through, one+"/"+rest+queries(e.Path)[0])
			}
		}
	}
	for _, path := range through {
		cells, _ := s.compared(t, of, throughAPIServer, path)
		out.add(generic.Replace(path), cells)
	}
	return out
}

// generic replaces the names in a path of one change for the table.
var generic = strings.NewReplacer("{traceID}", "ID", "{spanID}", "STEP")

// ids replaces the names in a path of one change.
func (s *visited) ids(of string) *strings.Replacer {
	return strings.NewReplacer("{traceID}", s.changes[of], "{spanID}", s.steps[of])
}

// compared returns the cells of a path of one change, and the answers for a change that does not exist, with the IDs
// of the one. It requires that a visitor from whom the change is hidden gets the latter.
func (s *visited) compared(t *testing.T, of, prefix, path string) (cells []string, absent []answered) {
	t.Helper()
	got := s.row(t, prefix+s.ids(of).Replace(path))
	absent = s.row(t, prefix+s.ids(ofNothing).Replace(path))
	named := strings.NewReplacer(s.changes[ofNothing], s.changes[of], s.steps[ofNothing], s.steps[of])
	for i, v := range visitors {
		absent[i].body = named.Replace(absent[i].body)
		if got[i] != absent[i] && s.hides(t, v, of) {
			t.Errorf("%s as %s: %d %.300s, want %d %.300s as for no change",
				path, v.name, got[i].code, got[i].body, absent[i].code, absent[i].body)
		}
	}
	return cellsOf(got, absent), absent
}

// hides reports whether the whole change is hidden from a visitor.
func (s *visited) hides(t *testing.T, v visitor, of string) bool {
	t.Helper()
	return s.send(t, v, apiPrefix+"traces/"+s.changes[of]).code == http.StatusNotFound
}

// kubectl asks for the lists and watches of Kubernetes.
func (s *visited) kubectl(t *testing.T) *section {
	out := &section{title: "Lists of kubectl", text: "Below `/apis/lifeline.dev/v1alpha1/`. " +
		"The API server checks the\nright of the path before it hands a request on, and the server checks it again."}
	const watch = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	for _, path := range []string{
		"namespaces/" + namespaceA + "/changes", "namespaces/" + namespaceB + "/changes", "changes", "visiblechanges",
	} {
		out.add(path, cellsOf(s.row(t, throughAPIServer+path), nil))
		out.add(path+"?watch=true", cellsOf(s.row(t, throughAPIServer+path+watch), nil))
		if path == "visiblechanges" {
			continue
		}
		for _, e := range kubeapi.Endpoints() {
			if strings.HasPrefix(e.Path, apiPrefix) && !strings.Contains(e.Path, "{") && e.Verb == "get" {
				sub := path + "/-/" + e.Subresource
				out.add(sub, cellsOf(s.row(t, throughAPIServer+sub+queries(e.Path)[0]), nil))
			}
		}
	}
	return out
}

func queries(path string) []string {
	if q := asks[path]; q != nil {
		return q
	}
	return []string{""}
}

// row returns the answers of a path. It requires that no answer shows a hidden object, also without the check of the
// API server.
func (s *visited) row(t *testing.T, path string) []answered {
	t.Helper()
	got := make([]answered, len(visitors))
	for i, v := range visitors {
		got[i] = s.ask(t, v, path)
		own := s.send(t, v, path)
		for _, mark := range v.hidden {
			if strings.Contains(got[i].body, mark) || strings.Contains(own.body, mark) {
				t.Errorf("%s as %s: the answer has %s: %s", path, v.name, mark, cmp.Or(got[i].body, own.body))
			}
		}
		if got[i].code >= http.StatusInternalServerError && !v.silent || got[i].code == http.StatusBadRequest {
			t.Errorf("%s as %s: %d %.300s", path, v.name, got[i].code, got[i].body)
		}
	}
	return got
}

// cellsOf compares the answers of one path with the last one, which has everything, and with those for a change that
// does not exist; nil for a path of no change.
func cellsOf(got, absent []answered) []string {
	all := got[len(got)-1]
	differ := slices.ContainsFunc(got, func(a answered) bool { return a.code == http.StatusOK && a.body != all.body })
	var out []string
	for i, a := range got {
		switch {
		case a.code != http.StatusOK:
			out = append(out, fmt.Sprint(a.code))
		case !differ && !marked(all.body):
			out = append(out, "200")
		case a.body == all.body:
			out = append(out, "**all**")
		case absent != nil && a == absent[i]:
			out = append(out, "none")
		default:
			out = append(out, "part")
		}
	}
	return out
}

func marked(body string) bool { return strings.Contains(body, "mark-") }

// same requires the cells of another path, for each visitor that the API server knows.
func (s *visited) same(t *testing.T, path string, want []string, absent []answered) {
	t.Helper()
	for i, cell := range cellsOf(s.row(t, throughAPIServer+path), absent) {
		if visitors[i].name != nobody && cell != want[i] {
			t.Errorf("%s as %s: %s, want %s as at the server", path, visitors[i].name, cell, want[i])
		}
	}
}

// pageOf returns the text of the page.
func pageOf(sections []*section) string {
	var out strings.Builder
	out.WriteString(`# Who gets which answer

This page is generated: in ` + "`app`, `go test ./internal/serve -run TestRightsTable -update`" + ` rewrites
it. The test asks each path of a server as each of these users, with the roles of the chart. It fails
if an answer has the name of an object that the cluster hides from the user, or if the answer for a
hidden change differs from that for an absent one. [Who may see what](guides/rights.md) has the rules.

| user | roles |
| --- | --- |
`)
	head, rule := "| path |", "| --- |"
	for _, v := range visitors {
		fmt.Fprintf(&out, "| %s | %s |\n", v.name, v.meaning)
		head, rule = head+" "+v.name+" |", rule+" --- |"
	}
	out.WriteString(`
| answer | meaning |
| --- | --- |
| **all** | 200, with the same bytes as for cluster-admin |
| part | 200, without what is hidden from the user: names, counts and durations are those of the rest |
| none | 200, the same answer as for a change that does not exist |
| 200 | 200, the same for each user that gets it |
| 401, 403 | the user is not known, or has no right to this path |
| 404 | the same answer as for a change that does not exist |
| 503 | nothing is shown, since the API server does not decide |

Paths with the same answers share a line.
`)
	for _, s := range sections {
		fmt.Fprintf(&out, "\n## %s\n\n", s.title)
		if s.text != "" {
			fmt.Fprintf(&out, "%s\n\n", s.text)
		}
		fmt.Fprintf(&out, "%s\n%s\n", head, rule)
		for _, l := range s.lines {
			fmt.Fprintf(&out, "| %s | %s |\n", shortened(l.paths), strings.Join(l.cells, " | "))
		}
	}
	return out.String()
}

// shortened returns a list of paths. A path that continues the last whole one has only its end.
func shortened(paths []string) string {
	var out []string
	whole := "-"
	for _, path := range paths {
		if rest, is := strings.CutPrefix(path, whole); is && strings.HasPrefix(rest, "/") || is && rest[0] == '?' {
			out = append(out, "`…"+rest+"`")
			continue
		}
		whole = path
		out = append(out, "`"+path+"`")
	}
	return strings.Join(out, ", ")
}

func compare(t *testing.T, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(rightsPage, []byte(got), 0o644))
	}
	want, err := os.ReadFile(rightsPage)
	must(t, err)
	if d := diff.Diff(string(want), got); d != "" {
		t.Errorf("%s is not what the server answers; -update rewrites it: -want +got:\n%s", rightsPage, d)
	}
}
