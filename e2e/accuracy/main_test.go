// SPDX-License-Identifier: Apache-2.0

// Package accuracy measures how often `lifeline serve` is right. Several people play scenarios on two
// clusters: TestAccuracy on fake nodes, TestAccuracyOnNode on a real node. Each scenario states its
// changes and their effects before it is played. Three servers watch the same cluster: one with the
// audit log at level RequestResponse, one with the log at level Metadata, one by watch alone. The API
// server's audit log is the judge of who wrote what. With -update each test replaces its part of
// docs/accuracy.md.
package accuracy

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// The people of the scenarios. All may do everything. None is in system:masters.
const (
	userA = "user-a"
	userB = "user-b"
	userC = "user-c"
)

var people = []string{userA, userB, userC}

// bench is the cluster with fake nodes.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite docs/accuracy.md")

func TestMain(m *testing.M) {
	os.Exit(harness.MainSlow(m, lab.Options{Nodes: lab.NodesKWOK, Users: users()}, &bench))
}

// users are the people as users of a cluster.
func users() []lab.User {
	out := make([]lab.User, 0, len(people))
	for _, p := range people {
		out = append(out, lab.User{Name: p})
	}
	return out
}

// admit gives the people all rights.
func admit(t *testing.T, on *harness.Bench) {
	t.Helper()
	args := []string{"create", "clusterrolebinding", "people", "--clusterrole=cluster-admin"}
	for _, p := range people {
		args = append(args, "--user="+p)
	}
	if out, err := on.RunKubectl(context.Background(), strings.NewReader(""), args...); err != nil {
		t.Fatal(fmt.Errorf("cannot give the people rights: %w\n%s", err, out))
	}
}
