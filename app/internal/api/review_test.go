// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestReview: a stream requests its access again every ten seconds. It ends when the access has changed or was
// refused, before the next event.
func TestReview(t *testing.T) {
	only := func(namespaces ...string) store.Scope { return store.Scope{Namespaces: namespaces} }
	cases := map[string]struct {
		reason string
		after  time.Duration
		scope  store.Scope
		err    error
		ends   bool
	}{
		"same":    {"the right remains", reviewPeriod, only("default", "", "shop"), nil, false},
		"early":   {"the decision would be that of a cache", reviewPeriod - 1, only("shop"), nil, false},
		"revoked": {"a namespace is missing", reviewPeriod, only("shop", ""), nil, true},
		"more":    {"the client has not had the events of the new namespace", reviewPeriod, store.Scope{}, nil, true},
		"nothing": {"", reviewPeriod, store.Scope{}, barred{http.StatusForbidden, "nothing"}, true},
		"undecided": {
			"without a decision nothing is shown", reviewPeriod, only("default", "", "shop"),
			barred{http.StatusServiceUnavailable, "no answer"}, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var changed atomic.Bool
			var passed atomic.Int64
			v := filled(t)
			gate := store.NewGate(v, store.Whole)
			s := start(t, Options{
				Clock: func() time.Time { return asOf.Add(time.Duration(passed.Load())) },
				Access: func(*http.Request) (store.Access, error) {
					if changed.Load() {
						return gate.For(tc.scope), tc.err
					}
					return gate.For(only("default", "", "shop")), nil
				},
				Problems: tracked(),
			})
			s.heartbeat = time.Hour
			s.pace, s.renewal = time.Millisecond, 2*time.Millisecond
			l, problems := s.listen(t, ""), s.open(t, "problems/stream", "")
			l.want(EventSynced)
			problems.want(EventProblems)
			changed.Store(true)
			passed.Store(int64(tc.after))
			s.hub.Publish([]Update{opened(spantest.Apply())})
			if !tc.ends {
				l.want(EventTrace + " apply open")
				return
			}
			l.want("end")
			problems.want("end")
		})
	}
}
