// SPDX-License-Identifier: Apache-2.0

// Package accuracy measures how often `lifeline serve` is right. Several people play scenarios on a
// real control plane with fake nodes. Each scenario states its changes and their effects before it is
// played. Three servers watch the same cluster: one with the audit log at level RequestResponse, one
// with the log at level Metadata, one by watch alone. The API server's audit log is the judge of who
// wrote what. With -update the result replaces docs/accuracy.md.
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
func users() []string { return append(slices.Clone(people), addon.Provider) }

// bench is the cluster that all scenarios share.
var bench *harness.Bench

var update = flag.Bool("update", false, "rewrite docs/accuracy.md")

func TestMain(m *testing.M) {
	var accounts []lab.User
	for _, u := range users() {
		accounts = append(accounts, lab.User{Name: u})
	}
	opts := lab.Options{
		Nodes: lab.NodesKWOK, Users: accounts,
		AddOns: []lab.AddOn{lab.Helm, lab.Flux, lab.ArgoCD, lab.CertManager, lab.ClusterAPI, lab.SampleAPI},
	}
	os.Exit(harness.MainSlow(m, opts, &bench))
}

// admit gives the users all rights.
func admit(t *testing.T) {
	t.Helper()
	args := []string{"create", "clusterrolebinding", "people", "--clusterrole=cluster-admin"}
	for _, u := range users() {
		args = append(args, "--user="+u)
	}
	if out, err := bench.RunKubectl(context.Background(), strings.NewReader(""), args...); err != nil {
		t.Fatal(fmt.Errorf("cannot give the users rights: %w\n%s", err, out))
	}
}
