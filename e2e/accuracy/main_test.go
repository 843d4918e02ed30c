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
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
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

// users are the people and the provider of Cluster API.
func users() []lab.User {
	var out []lab.User
	for _, name := range append(slices.Clone(people), addon.Provider) {
		out = append(out, lab.User{Name: name})
	}
	return out
}

// bench is the cluster with fake nodes.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite docs/accuracy.md")

func TestMain(m *testing.M) {
	opts := lab.Options{
		Nodes: lab.NodesKWOK, Users: users(),
		AddOns: []lab.AddOn{lab.Helm, lab.Flux, lab.ArgoCD, lab.CertManager, lab.ClusterAPI, lab.SampleAPI},
	}
	os.Exit(harness.MainSlow(m, opts, &bench))
}

// admit gives the users all rights.
func admit(t *testing.T, on *harness.Bench) {
	t.Helper()
	args := []string{"create", "clusterrolebinding", "people", "--clusterrole=cluster-admin"}
	for _, u := range users() {
		args = append(args, "--user="+u.Name)
	}
	if out, err := on.RunKubectl(context.Background(), strings.NewReader(""), args...); err != nil {
		t.Fatal(fmt.Errorf("cannot give the users rights: %w\n%s", err, out))
	}
}
