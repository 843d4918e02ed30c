// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/serving"
)

// readyPatience bounds the wait for the start.
const readyPatience = 4 * time.Minute

// serve starts lifeline as a separate user with the right to read everything, and waits until it is
// ready. The test ends it.
func serve(t *testing.T, backend, dir string) *serving.Process {
	t.Helper()
	bench.MustKubectl(t, "", "create", "clusterrole", user, "--verb=get,list,watch", "--resource=*.*")
	bench.MustKubectl(t, "", "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
	s := serving.Start(t, bench.Lifeline, filepath.Join(dir, "lifeline.log"), bench.Env(bench.KubeconfigFor(user)),
		"--config", harness.File(t, serving.Config), "--data-dir", t.TempDir(), "--otlp", "http://"+backend)
	s.Keep = size.keep
	s.Await(t, readyPatience, nil)
	return s
}

// profile keeps a profile, if anything is kept.
func profile(t *testing.T, s *serving.Process, kind, name string) {
	t.Helper()
	if err := s.Profile(t, kind, name); err != nil {
		t.Error(err)
	}
}
