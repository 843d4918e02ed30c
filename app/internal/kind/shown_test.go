// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the list of fields in docs/trace-model.md")

// TestShownPage compares the list of fields with shown values in docs/trace-model.md.
func TestShownPage(t *testing.T) {
	const page, begin, end = "../../../docs/trace-model.md", "<!-- shown fields -->\n", "<!-- end -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no list of fields", page)
	}
	var list strings.Builder
	list.WriteString("| kind | fields with values |\n| --- | --- |\n")
	for _, k := range All() {
		var fields []string
		for _, field := range k.Shown {
			if strings.Contains(field, "emplate.") {
				continue
			}
			fields = append(fields, "`"+strings.TrimPrefix(field, "spec.")+"`")
		}
		if len(fields) < len(k.Shown) {
			fields = append(fields, "those of a Pod in its template")
		}
		if len(fields) > 0 {
			fmt.Fprintf(&list, "| %s | %s |\n", k.Kind.Kind, strings.Join(fields, ", "))
		}
	}
	switch want := list.String(); {
	case want == old:
	case !*update:
		t.Errorf("%s has another list of fields; -update rewrites it. Want:\n%s", page, want)
	default:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShows has fields beside, above and below those of the list.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		kind *Kind
		path string
		want bool
	}{
		{&Deployment, "spec.replicas", true},
		{&Deployment, "spec.template.spec.containers.image", true},
		{&Deployment, "spec.template.spec.containers.resources.limits.cpu", true},
		{&Deployment, "spec.template.spec.containers.env.value", false},
		{&Deployment, "spec.template.spec.containers.imagePullPolicy", false},
		{&Deployment, "spec.template.metadata.annotations.note", false},
		{&Deployment, "metadata.labels.team", true},
		{&Deployment, "metadata.annotations.note", false},
		{&Secret, "metadata.labels.team", false},
		{&Namespace, "metadata.labels.team", true},
		{&Secret, "data", false},
		{&Pod, "spec.containers.args", false},
		{&Node, "spec.taints.key", true},
		{&Node, "spec.taints.value", false},
		{Of("example.com", "Widget"), "metadata.labels.team", false},
		{Of("example.com", "Widget"), "spec.replicas", false},
	} {
		if got := c.kind.Shows([]byte(c.path)); got != c.want {
			t.Errorf("%s %s: got %t", c.kind.Kind.Kind, c.path, got)
		}
	}
}
