// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
)

// pace is how long it took to go on.
type pace struct {
	// apply is the longest of some applies, rollout from the creation of a
	// Deployment of two to the end of its rollout.
	apply, rollout time.Duration
}

// slack is what a write may take longer than it would because of a webhook that
// does not answer: a second, which the configuration says, and as much again for a
// machine that does much else. A rollout of two Pods is some ten writes, one after
// the other.
const (
	slack   = 2 * time.Second
	inARow  = 10
	working = 10 * time.Second
)

// TestHarm: no fault of the webhook stops the cluster. Every apply succeeds, a
// Deployment rolls out, and both stay within the timeout of the configuration.
func TestHarm(t *testing.T) {
	harness.Slow(t)
	ledger := follow(t)
	without := goesOn(t, "without", ledger)
	limit := pace{without.apply + slack + working, without.rollout + inARow*slack + working}
	tests := map[string]struct {
		reason string
		make   func(t *testing.T)
	}{
		"well": {
			reason: "it is there and answers",
			make:   func(t *testing.T) { running(t) },
		},
		"dead": {
			reason: "it was killed: connections are refused",
			make:   func(t *testing.T) { running(t).kill(t) },
		},
		"slow": {
			reason: "it was stopped: connections are taken, and nothing is answered",
			make: func(t *testing.T) {
				h := running(t)
				h.process.Signal(t, syscall.SIGSTOP)
				t.Cleanup(func() { h.process.Signal(t, syscall.SIGCONT) })
			},
		},
		"expired": {
			reason: "its certificate is no longer valid",
			make: func(t *testing.T) {
				h := newHook(t)
				cert, key, ca := certificate(t, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
				h.files(t, cert, key, ca)
				h.start(t)
				h.register(t)
			},
		},
		"another authority": {
			reason: "its certificate is not that of the authority that was installed",
			make: func(t *testing.T) {
				h := newHook(t)
				h.start(t)
				_, _, ca := certificate(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
				write(t, h.cafile, ca)
				h.register(t)
			},
		},
		"garbage": {
			"it answers what is no review",
			lies(func(out http.ResponseWriter, _ string) { _, _ = io.WriteString(out, "\x00\xff{") }),
		},
		"nothing": {"it answers with an empty body", lies(func(http.ResponseWriter, string) {})},
		"error": {
			"it answers that it cannot",
			lies(func(out http.ResponseWriter, _ string) { http.Error(out, "no", http.StatusInternalServerError) }),
		},
		"elsewhere": {"it sends the API server elsewhere", lies(func(out http.ResponseWriter, _ string) {
			out.Header().Set("Location", "/again")
			out.WriteHeader(http.StatusTemporaryRedirect)
		})},
		"another uid": {"it answers another review", lies(func(out http.ResponseWriter, _ string) {
			_, _ = io.WriteString(out, reviewed("another", `"allowed":true`))
		})},
		"broken patch": {
			reason: "its patch is no JSON",
			make: lies(
				func(out http.ResponseWriter, uid string) { _, _ = io.WriteString(out, reviewed(uid, patched("x"))) },
			),
		},
		"huge": {"its answer is larger than any object", lies(huge)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.make(t)
			for tries := 1; ; tries++ { // the machine may stand still for others
				with := goesOn(t, name, ledger)
				if with.apply <= limit.apply && with.rollout <= limit.rollout {
					break
				}
				if tries == 3 {
					t.Errorf("it took %+v, at most %+v is allowed: %s", with, limit, tt.reason)
					break
				}
			}
			uninstall(t)
		})
	}
}

// TestLiesThatCount: harm by a webhook that no failurePolicy prevents. The holder of its key can stop the writes of
// others, until the configuration is deleted.
func TestLiesThatCount(t *testing.T) {
	tests := map[string]struct {
		reason, more, want string
	}{
		"refusal": {
			reason: "a mutating webhook may refuse, and that is no failure",
			more:   `"allowed":false,"status":{"message":"no"}`, want: "denied the request: no",
		},
		"object made invalid": {
			reason: "what is stored is validated after it was admitted",
			more:   patched(`[{"op":"add","path":"/metadata/labels","value":{"a b":"c"}}]`), want: "is invalid",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lies(func(out http.ResponseWriter, uid string) { _, _ = io.WriteString(out, reviewed(uid, tt.more)) })(t)
			s := &stage{T: t, ns: "default"}
			out, err := s.refused(settingsMap("1"), "apply", "-f", "-")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it was said: %s %v\nwant %q: %s", out, err, tt.want, tt.reason)
			}
			uninstall(t)
			apply(settingsMap("1"))(s)
			s.kubectl("delete", "configmap/settings")
		})
	}
}

// TestRestarting: the webhook is killed and started again, over and over, while
// somebody writes.
func TestRestarting(t *testing.T) {
	h := running(t)
	for tries := 1; ; tries++ { // the machine may stand still for others
		longest := restarting(t, h)
		if longest <= slack+working {
			return
		}
		if tries == 3 {
			t.Errorf("an apply took up to %s", longest)
			return
		}
	}
}

// restarting applies some times while the webhook is restarted, and returns how long
// the longest took.
func restarting(t *testing.T, h *hook) (longest time.Duration) {
	t.Helper()
	ns := bench.Namespace(t)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 10 && err == nil; i++ {
			began := time.Now()
			_, err = bench.RunKubectl(
				t.Context(),
				strings.NewReader(web(2, fmt.Sprintf("web:%d", i))),
				"-n",
				ns,
				"apply",
				"-f",
				"-",
			)
			longest = max(longest, time.Since(began))
		}
		if err == nil {
			_, err = bench.RunKubectl(t.Context(), nil, "-n", ns, "rollout", "status", "deployment/web", "--timeout=4m")
		}
		done <- err
	}()
	for restarts := 0; ; restarts++ {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("after %d restarts: %v", restarts, err)
			}
			t.Logf("%d restarts; an apply took up to %d ms", restarts, longest.Milliseconds())
			return longest
		default:
			h.kill(t)
			h.start(t)
		}
	}
}

// running is a webhook that the API server asks.
func running(t *testing.T) *hook {
	t.Helper()
	h := newHook(t)
	h.start(t)
	h.install(t)
	return h
}

func lies(say answer) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		newLiar(t, say).install(t)
	}
}

// goesOn writes some objects and fails the test if that does not succeed.
func goesOn(t *testing.T, how string, ledger *stored.Ledger) (p pace) {
	t.Helper()
	s := newStage(t, ledger)
	for i := range 3 {
		began := time.Now()
		apply(settingsMap(fmt.Sprint(i)))(s)
		p.apply = max(p.apply, time.Since(began))
	}
	if got := s.kubectl("get", "configmap/settings", "-o", "jsonpath={.data.value}"); got != "2" {
		t.Errorf("stored is %q", got)
	}
	began := time.Now()
	apply(web(2, "web:1"))(s)
	s.kubectl("rollout", "status", "deployment/web", "--timeout=4m")
	p.rollout = time.Since(began)
	t.Logf("%-18s an apply took up to %4d ms, a rollout %5d ms", how, p.apply.Milliseconds(), p.rollout.Milliseconds())
	return p
}
