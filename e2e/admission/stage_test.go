// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
)

// scenario is what is done to some objects, step by step: the same with and
// without the webhook.
type scenario struct {
	name   string
	reason string
	steps  []step
}

// step is one of the things that are done; each begins when all that follows from
// the one before is over.
type step struct {
	name string
	do   func(s *stage)
	// costs are stored writes that the webhook is known to cause, and may is how many
	// it can, or not, by accident: "role: verb".
	costs, may map[string]int
}

// stage is the namespace of one run of a scenario.
type stage struct {
	*testing.T
	ns     string
	ledger *stored.Ledger
	client kubernetes.Interface
	any    dynamic.Interface
	// saved are manifests that a step has put aside for a later one.
	saved map[string]string
}

// quiet is how long nothing must have been stored for a step to be over.
const quiet = 800 * time.Millisecond

// play plays a scenario and counts what is stored.
func play(t *testing.T, sc scenario, ledger *stored.Ledger) tally {
	t.Helper()
	s := newStage(t, ledger)
	var began []time.Time
	for _, st := range sc.steps {
		began = append(began, time.Now())
		st.do(s)
		s.settle(st.name)
	}
	all, err := ledger.Writes(s.ns)
	if err != nil {
		t.Fatal(err)
	}
	return count(sc, began, all)
}

func newStage(t *testing.T, ledger *stored.Ledger) *stage {
	t.Helper()
	cfg := settings(t)
	s := &stage{T: t, ns: bench.Namespace(t), ledger: ledger, saved: map[string]string{}}
	var err error
	if s.client, err = kubernetes.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	if s.any, err = dynamic.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	s.settle("the namespace")
	return s
}

// settings are those of the administrator, without a limit.
func settings(t *testing.T) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	return cfg
}

// kubectl runs kubectl in the namespace.
func (s *stage) kubectl(args ...string) string {
	s.Helper()
	return s.stdin("", args...)
}

// stdin is kubectl with something to read. What it printed comes without the last
// line's end.
func (s *stage) stdin(text string, args ...string) string {
	s.Helper()
	return strings.TrimSpace(bench.MustKubectl(s, text, append([]string{"-n", s.ns}, args...)...))
}

// save puts a live object aside, as somebody would who edits it later.
func (s *stage) save(object string) {
	s.Helper()
	s.saved[object] = s.kubectl("get", object, "-o", "yaml") + "\n"
}

// restored is a saved object without what says that it is that very one.
func (s *stage) restored(object string) string {
	return without(s.saved[object], "resourceVersion:", "uid:", "creationTimestamp:", "generation:")
}

// without leaves out the lines of an object's metadata that begin so.
func without(manifest string, keys ...string) string {
	var out []string
lines:
	for line := range strings.Lines(manifest) {
		for _, k := range keys {
			if strings.HasPrefix(line, "  "+k) {
				continue lines
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// settle waits until all that follows from a step is over.
func (s *stage) settle(step string) {
	s.Helper()
	looks, why := 0, ""
	defer func() {
		if s.Failed() {
			s.Logf("after %s, last looked at: %s", step, why)
		}
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	harness.Eventually(s, fmt.Sprintf("calm in %s after %s", s.ns, step), func() bool {
		<-tick.C
		if !s.ledger.Quiet(s.ns, quiet) {
			looks, why = 0, "something is written"
			return false
		}
		if why = s.unsettled(); why != "" {
			looks = 0
			return false
		}
		// More than once: after a pause of the whole machine there were no
		// writes for long, and many come at once.
		looks++
		return looks == 2
	})
}
