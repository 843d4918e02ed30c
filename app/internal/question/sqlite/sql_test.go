// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSQL shows the SQL of typical questions in testdata/sql.out.
func TestSQL(t *testing.T) {
	var out strings.Builder
	for _, text := range []string{
		`kind == "Pod" && phase.startup > duration("30s") && images.exists(i, i.contains("nginx")) && volumes > 2`,
		`namespace == "shop" && start > now - duration("24h") && outcome in ["failed", "unfinished"]`,
		`labels["app"] == "web" && has(phase.pull) && !has(labels.canary)`,
		`images.all(i, i.startsWith("registry.example.com/")) || size(images) == 0`,
		`labels.exists(k, k.matches("^team") && labels[k] == user)`,
		`labels["image"] in images ? heals == "" : trace == "4bf92f3577b34da6a3ce929d0e0e4736"`,
		`now - start - duration > duration("1h") && workload.endsWith("/web")`,
		`kind == "Pod" && ended.readiness - began.pull > duration("20s") && has(ended.init) && end < now`,
	} {
		c := condition(t, text)
		fmt.Fprintf(&out, "%s\n\t%s\n\t%v\n", text, c.SQL, c.Args)
	}
	const path = "testdata/sql.out"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s, -want +got:\n%s", path, diff)
	}
}
