// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the list in docs/reasons.md")

// The page, and the title of the part that the end-to-end test measures.
const (
	page = "../../../docs/reasons.md"
	// rest is the heading after the list.
	rest = "\n## Cases from bug reports\n"
)

const head = `# Reasons

` + "`lifeline why KIND/NAME`" + ` says why an object is not ready. Each reason has a category. The categories
are a closed list, and their names are stable: the attribute ` + "`lifeline.reason`" + ` of a root span, and
the member ` + "`category`" + ` of ` + "`lifeline why -o json`" + `. An ordinary wait, such as that for a node, has
no category.

A message of the cluster is shown without the parts that may have a confidential value; see
[security](security.md).
`

// TestPage: docs/reasons.md lists the categories.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	family := ""
	for _, row := range Categories {
		if row.Family != family {
			family = row.Family
			fmt.Fprintf(&b, "\n## %s\n\n| category | meaning |\n| --- | --- |\n", family)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.Category, row.Meaning)
	}
	old, err := os.ReadFile(page)
	if err != nil && !*update {
		t.Fatal(err)
	}
	list, after, found := strings.Cut(string(old), rest)
	if diff := cmp.Diff(b.String(), list); diff == "" {
		return
	} else if !*update {
		t.Fatalf("%s: -update rewrites the list (-want +got):\n%s", page, diff)
	}
	if found {
		b.WriteString(rest + after)
	}
	if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
