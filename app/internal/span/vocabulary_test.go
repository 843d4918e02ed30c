// SPDX-License-Identifier: Apache-2.0

package span

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	namesPage    = "../../../docs/span-names.md"
	releasedFile = "testdata/released-names.txt"
)

var (
	update  = flag.Bool("update", false, "rewrite docs/span-names.md")
	release = flag.Bool("release", false, "rewrite "+releasedFile+", at a release")
)

// TestPage compares docs/span-names.md with the vocabulary.
func TestPage(t *testing.T) {
	want := page()
	if *update {
		if err := os.WriteFile(namesPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(namesPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-vocabulary +page); -update rewrites it:\n%s", namesPage, diff)
	}
}

func page() string {
	var b strings.Builder
	b.WriteString("# Names in spans\n\n" +
		"The names that dashboards, alerts and queries can rely on. This page is generated:\n" +
		"`go test ./internal/span -update` rewrites it.\n\n" +
		"The schema URL of these names is `" + SchemaURL + "`.\n\n" +
		"## Stability\n\n" +
		"- The version in the schema URL rises with each change of a name, and with each new name.\n" +
		"- A renamed attribute keeps its old name for one release, beside the new one.\n" +
		"- A name is removed only after that. A test compares this page with the last release.\n\n" +
		"Attributes of OpenTelemetry's semantic conventions, such as `k8s.pod.name` and\n" +
		"`http.response.status_code`, follow those conventions. They are not listed here.\n")
	for _, section := range []struct {
		sort        Sort
		title, head string
	}{
		{SpanName, "Spans", "| span | from → to | meaning |"},
		{EventName, "Span events", "| event | on | meaning |"},
		{AttributeKey, "Attributes", "| attribute | on | meaning |"},
		{LinkReason, "Links", "| `lifeline.link` | leads to |"},
	} {
		columns := strings.Count(section.head, "|") - 1
		fmt.Fprintf(&b, "\n## %s\n\n%s\n|%s\n", section.title, section.head, strings.Repeat(" --- |", columns))
		for _, term := range Vocabulary() {
			switch {
			case term.Sort != section.sort:
				continue
			case term.Sort == LinkReason:
				fmt.Fprintf(&b, "| `%s` | %s |\n", term.Name, term.Meaning)
			default:
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", term.Name, term.On, term.Meaning)
			}
		}
	}
	return b.String()
}

// TestReleasedNames holds the vocabulary against that of the last release: no
// name is lost, and a change has a new schema URL.
func TestReleasedNames(t *testing.T) {
	names := []string{"schema " + SchemaURL}
	for _, term := range Vocabulary() {
		names = append(names, fmt.Sprintf("%s %s", term.Sort, term.Name))
	}
	if *release {
		if err := os.WriteFile(releasedFile, []byte(strings.Join(names, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(releasedFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range incompatible(strings.Split(strings.TrimSpace(string(text)), "\n"), SchemaURL, Vocabulary()) {
		t.Error(wrong)
	}
}

// incompatible returns what is wrong with a vocabulary after a release. The
// release is its schema and then its names.
func incompatible(released []string, schema string, now []Term) []string {
	var wrong []string
	known, old := map[string]bool{}, map[string]bool{}
	for _, term := range now {
		known[fmt.Sprintf("%s %s", term.Sort, term.Name)] = true
		if term.Was != "" {
			old[fmt.Sprintf("%s %s", term.Sort, term.Was)] = true
		}
	}
	changed := len(known) != len(released)-1
	for _, name := range released[1:] {
		changed = changed || !known[name]
		if !known[name] && !old[name] {
			wrong = append(
				wrong,
				name+" of the last release is gone: set Was of its new name, and keep both in the spans",
			)
		}
	}
	if changed && released[0] == "schema "+schema {
		wrong = append(wrong, "names have changed since the last release: raise the version in lifeline.SchemaURL")
	}
	return wrong
}

func TestIncompatible(t *testing.T) {
	released := []string{"schema 1", "attribute a", "span b"}
	a, b := Term{Sort: AttributeKey, Name: "a"}, Term{Sort: SpanName, Name: "b"}
	renamed := Term{Sort: AttributeKey, Name: "c", Was: "a"}
	for name, tt := range map[string]struct {
		reason string
		schema string
		now    []Term
		want   int
	}{
		"unchanged": {"nothing to do", "1", []Term{a, b}, 0},
		"new":       {"a new name needs a version", "1", []Term{a, b, {Sort: SpanName, Name: "d"}}, 1},
		"raised":    {"with a version it is fine", "2", []Term{a, b, {Sort: SpanName, Name: "d"}}, 0},
		"renamed":   {"the old name stays for one release", "2", []Term{renamed, b}, 0},
		"silent":    {"a rename needs a version, too", "1", []Term{renamed, b}, 1},
		"removed":   {"nobody could follow", "2", []Term{b}, 1},
		"both":      {"removed, without a version", "1", []Term{b}, 2},
	} {
		if got := incompatible(released, tt.schema, tt.now); len(got) != tt.want {
			t.Errorf("%s: %s: got %q", name, tt.reason, got)
		}
	}
}

// TestSpelledOnce: each attribute of Lifeline in the code of the app, of the operator kit, of the scheduler, of the
// kubelet's proxies and of the scheduler operator is in the vocabulary, and nowhere a phase's name is spelled out.
func TestSpelledOnce(t *testing.T) {
	known := map[string]bool{}
	for _, term := range Vocabulary() {
		known[term.Name] = true
	}
	key := regexp.MustCompile(`attribute\.\w+\("((?:lifeline|k8s\.(?:object|event|scheduler|device))\.[^"]*)"`)
	phase := regexp.MustCompile(`(?:[nN]ame(?:: +| == | = |, )|case )"` +
		`(?:reconcile |(?:schedule|sandbox|pull image|init container|start container|run container|retry ` +
		`pause|backoff|readiness|publish endpoint|terminate)")`)
	for _, dir := range []string{
		"../../../app/internal", "../../../operator", "../../../scheduler", "../../../kubelet",
		"../../../examples/scheduler-operator",
	} {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			aside := strings.HasSuffix(path, "_test.go") ||
				slices.Contains([]string{"storetest", "spantest"}, filepath.Base(filepath.Dir(path)))
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || aside {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range key.FindAllSubmatch(text, -1) {
				if !known[string(m[1])] {
					t.Errorf("%s: attribute %s is not in vocabulary.go", path, m[1])
				}
			}
			if m := phase.Find(text); m != nil && filepath.Base(path) != "names.go" {
				t.Errorf("%s spells the name %s: use the constant of names.go", path, m)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
