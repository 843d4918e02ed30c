// SPDX-License-Identifier: Apache-2.0

// Package addons plays changes by several people on clusters with real controllers, records them, and
// checks the traces. With -update it writes the recordings to the app module's testdata, where the
// engine's tests replay them. Each play has a separate cluster.
package addons

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab"
)

// testdata is the directory of the recordings in the app module.
const testdata = "../../app/internal/lifecycle/testdata"

var update = flag.Bool("update", false, "rewrite the recordings in the app module")

// The people of the plays. All may do everything.
const (
	userA = "user-a"
	userB = "user-b"
	userC = "user-c"
)

// people are all of them.
var people = []string{userA, userB, userC}

// shop is the namespace of the plays.
const shop = "shop"

// quiet is the time without a write after which a step of a play is over. A trace settles sooner.
const quiet = 4 * time.Second

// stage is a cluster on which a play is recorded.
type stage struct {
	*harness.Bench

	t      *testing.T
	ledger *stored.Ledger
}

// startPatience bounds the start of a cluster. The first one builds the add-on.
const startPatience = 40 * time.Minute

// start starts a cluster with the namespace of the plays. Under -short it skips the test.
func start(t *testing.T, opts lab.Options) *stage {
	t.Helper()
	harness.Slow(t)
	for _, p := range people {
		opts.Users = append(opts.Users, lab.User{Name: p})
	}
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	bench, err := harness.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Bench: bench, t: t, ledger: stored.Follow(bench.AuditLog())}
	t.Cleanup(func() {
		if err := s.ledger.Close(); err != nil {
			t.Error(err)
		}
		if err := bench.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.prepare(opts.Users)
	return s
}

// record records a play on a cluster and returns its traces.
func record(t *testing.T, name string, opts lab.Options, play func(*stage)) []*harness.Trace {
	t.Helper()
	s := start(t, opts)
	file := filepath.Join(t.TempDir(), name+".jsonl.gz")
	recorder := s.Begin(t, harness.Call{Args: []string{"record", file, "-A"}})
	recorder.AwaitStderr(t, "; Ctrl-C ends it")
	play(s)
	recorder.Signal(t, syscall.SIGINT)
	if r := recorder.Wait(t); r.Code != 0 {
		t.Fatalf("lifeline record ended with code %d\n%s", r.Code, r.Stderr)
	} else if strings.Contains(r.Stderr, "cannot") {
		t.Errorf("lifeline record has no complete view:\n%s", r.Stderr)
	}
	if *update {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(testdata, name+".jsonl.gz"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return harness.Parse(t, s.Exec(t, "replay", "-o", "json", file)).Traces
}

// prepare gives the users all rights and makes the namespace of the play.
func (s *stage) prepare(users []lab.User) {
	s.t.Helper()
	binding := []string{"create", "clusterrolebinding", "people", "--clusterrole=cluster-admin"}
	for _, u := range users {
		binding = append(binding, "--user="+u.Name)
	}
	s.MustKubectl(s.t, "", binding...)
	s.MustKubectl(s.t, "", "create", "namespace", shop)
	s.AwaitDefaults(s.t, shop)
	s.settle()
}

// takesManager are the commands of kubectl with the flag --field-manager.
var takesManager = []string{"apply", "annotate", "patch", "set"}

// as runs kubectl in the namespace of the play as that user, the field manager.
func (s *stage) as(user string, args ...string) {
	s.t.Helper()
	s.given(user, "", args...)
}

// given is as with standard input.
func (s *stage) given(user, stdin string, args ...string) {
	s.t.Helper()
	if slices.Contains(takesManager, args[0]) {
		args = append(slices.Clone(args), "--field-manager="+user)
	}
	args = append([]string{"-n", shop}, args...) // a later -n counts
	if out, err := s.RunKubectlAs(s.t.Context(), user, strings.NewReader(stdin), args...); err != nil {
		s.t.Fatalf("kubectl %s as %s: %v\n%s", strings.Join(args, " "), user, err, out)
	}
}

// apply applies a manifest as that user.
func (s *stage) apply(user, manifest string) {
	s.t.Helper()
	s.given(user, manifest, "apply", "-f", "-")
}

// await waits with kubectl for a condition of an object.
func (s *stage) await(condition, object string) {
	s.t.Helper()
	s.MustKubectl(s.t, "", "-n", shop, "wait", "--for="+condition, object, "--timeout=4m")
}

// settle waits until nothing was written in the namespace of the play for some time.
func (s *stage) settle() {
	s.t.Helper()
	harness.Eventually(s.t, "quiet in namespace "+shop, func() bool { return s.ledger.Quiet(shop, quiet) })
}
