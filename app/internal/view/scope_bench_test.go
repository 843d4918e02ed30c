// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// shop returns change n of 50 namespaces: a Deployment with nine Pods. Every tenth one has a Pod in another namespace.
func shop(n int) *span.Trace {
	b := spantest.New(fmt.Sprint("change ", n))
	at := n * 1000
	d := b.Deployment(nil, at, at+3000)
	for pod := range 9 {
		b.Pod(d, fmt.Sprint("web-", n, "-", pod), at+50, at+3000)
	}
	for _, s := range b.Trace.Spans {
		s.Object.Namespace = fmt.Sprint("team-", n%50)
		if n/50%10 == 0 && s.Object.Name == fmt.Sprint("web-", n, "-", 8) {
			s.Object.Namespace = fmt.Sprint("team-", (n+1)%50)
		}
	}
	return b.Trace
}

// BenchmarkScope compares a caller who may see everything with one who may see one of 50 namespaces: 10,000 changes in
// the archive, of which a tenth has a part in another namespace.
func BenchmarkScope(b *testing.B) {
	const n = 10_000
	v := viewtest.New(b)
	for from := 0; from < n; from += 500 {
		var some []*span.Trace
		for i := from; i < from+500; i++ {
			some = append(some, shop(i))
		}
		v.Put(b, spantest.At(from*1000).Add(time.Hour), viewtest.Traces{Finished: some})
	}
	now := spantest.At(n * 1000).Add(time.Hour)
	var open []*span.Trace
	for i := range 1000 {
		t := shop(n + i)
		t.Spans[0].End, t.Spans[0].Outcome = span.Time{}, ""
		open = append(open, t)
	}
	v.Put(b, now, viewtest.Traces{Open: open})
	scopes := []struct {
		name string
		of   store.Scope
	}{
		{"everything", store.Scope{}}, {"namespace", store.Scope{Namespaces: []string{"team-7"}}},
		{"guarded", store.Scope{Without: []store.Guarded{{Kind: "Secret"}}}},
	}
	for _, s := range scopes {
		b.Run("First/"+s.name, func(b *testing.B) { // nothing is remembered of another scope
			for i := range b.N {
				of := s.of
				if of.Namespaces != nil {
					of.Namespaces = append([]string{fmt.Sprint("none-", i)}, of.Namespaces...)
				}
				if of.Without != nil {
					of.Without = []store.Guarded{{Kind: "Secret", Except: []string{fmt.Sprint("none-", i)}}}
				}
				list(b, v, store.Query{Scope: of})
			}
		})
		b.Run("List/"+s.name, func(b *testing.B) {
			for range b.N {
				list(b, v, store.Query{Scope: s.of})
			}
		})
		b.Run("ListArchived/"+s.name, func(b *testing.B) {
			for range b.N {
				list(b, v, store.Query{Scope: s.of, Until: spantest.At(n * 1000).Time})
			}
		})
		b.Run("Density/"+s.name, func(b *testing.B) {
			q := store.DensityQuery{Query: store.Query{
				Scope: s.of, Since: spantest.Epoch, Until: spantest.At(2 * n * 1000).Time,
			}, Buckets: 60}
			for range b.N {
				if _, err := v.Density(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Group/"+s.name, func(b *testing.B) {
			by, err := store.ParseBy("kind")
			if err != nil {
				b.Fatal(err)
			}
			q := store.GroupQuery{By: []store.By{by}, FindQuery: store.FindQuery{Scope: s.of, Now: now}}
			for range b.N {
				if _, err := v.Group(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Stream/"+s.name, func(b *testing.B) { // one version of each open trace
			access := store.NewGate(v, v.Project).For(s.of)
			for range b.N {
				for _, t := range open {
					if e := access.Unseal(store.Seal(t, true, now)); e != nil {
						_ = e.Summary()
					}
				}
			}
		})
	}
}

func list(b *testing.B, from store.Reader, q store.Query) {
	b.Helper()
	page, err := from.List(b.Context(), q)
	if err != nil || len(page.Traces) != store.DefaultPage {
		b.Fatal(err, len(page.Traces))
	}
}
