// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// audited adds the audit event of the last write to the named object.
func (s *story) audited(name, verb string, edits ...func(*observation.Write)) *observation.Write {
	st := s.objects[name]
	w := &observation.Write{
		Ref: st.Ref, Resource: strings.ToLower(st.Kind.Kind) + "s", Verb: verb, Code: 200, ResourceVersion: s.rv,
		Start: s.now().Add(-20 * time.Millisecond), End: s.now().Add(-time.Millisecond),
		AuditID: fmt.Sprintf("audit-%d", s.rv), User: "jane", UserAgent: "kubectl/v1.36.3", Manager: "kubectl",
	}
	if verb == "create" {
		w.Code = 201
	}
	for _, edit := range edits {
		edit(w)
	}
	s.emit(observation.Observation{Source: observation.SourceAudit, Write: w})
	return w
}

func refusedWith(code int, reason string) func(*observation.Write) {
	return func(w *observation.Write) { w.Code, w.Reason, w.Message, w.ResourceVersion = code, reason, "no", 0 }
}

// writesOf returns one line per span of a write: its name, object, author and evidence.
func writesOf(traces []*span.Trace) []string {
	var out []string
	for _, t := range traces {
		for _, s := range t.Spans {
			if !s.IsWrite() {
				continue
			}
			line := s.Name + " " + s.Object.Name + " by " + s.Service
			for _, kv := range s.Attributes {
				switch kv.Key {
				case span.KeyAuditMatch, span.KeyRepeats, span.KeyRV, span.KeyActorUser:
					line += " " + string(kv.Key[strings.LastIndex(string(kv.Key), ".")+1:]) + "=" + kv.Value.String()
				}
			}
			if s.Status == span.StatusError {
				line += " refused"
			}
			out = append(out, line)
		}
	}
	return out
}

func TestAuditedWrites(t *testing.T) {
	unnumbered := func(w *observation.Write) { w.ResourceVersion = 0 }
	nameless := func(w *observation.Write) { w.UID, w.ResourceVersion = "", 0 }
	cases := map[string]struct {
		reason string
		tell   func(s *story)
		want   []string
	}{
		"Version": {"the answer names the version", func(s *story) {
			s.write("web", deployment(0))
			s.audited("web", "create")
		}, []string{"create Deployment web by kubectl resource_version=101 user=jane match=resource_version"}},
		"Name": {"without one, it is the creation of that name", func(s *story) {
			s.write("web", deployment(0))
			s.audited("web", "create", nameless)
		}, []string{"create Deployment web by kubectl resource_version=101 user=jane match=name"}},
		"Precondition": {"a request with the precondition of one version made the next", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", scaled(2))
			s.audited("web", "update", unnumbered, func(w *observation.Write) { w.Precondition = 101 })
			s.write("web", arrived)
		}, []string{"update Deployment web by kubectl resource_version=102 user=jane match=precondition"}},
		"TwoForOne": {"one of the two changed nothing: the author is ambiguous", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", scaled(2))
			s.audited("web", "patch", unnumbered)
			s.audited("web", "patch", unnumbered, func(w *observation.Write) { w.AuditID = "other" })
		}, nil},
		"OtherManager": {"fields of another manager changed", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", scaled(2), func(st *observation.State) {
				st.Managers = append(
					st.Managers[:1:1],
					observation.Manager{Name: "helm", Operation: "Update", Fields: 2},
				)
			})
			s.audited("web", "patch", unnumbered)
		}, nil},
		"TooLate": {"a version from before the request is another's", func(s *story) {
			s.write("web", deployment(0))
			s.audited(
				"web",
				"create",
				nameless,
				func(w *observation.Write) { w.Start, w.End = w.Start.Add(time.Second), w.End.Add(time.Second) },
			)
		}, nil},
		"SameID": {"an audit ID of two requests names none (X1)", func(s *story) {
			s.write("web", deployment(0))
			w := *s.audited("web", "create")
			w.Verb, w.Code, w.ResourceVersion = "patch", 200, 0
			s.emit(observation.Observation{Source: observation.SourceAudit, Write: &w})
		}, nil},
		"Twice": {"a repetition is none", func(s *story) {
			s.write("web", deployment(0))
			w := s.audited("web", "create")
			s.emit(observation.Observation{Source: observation.SourceAudit, Write: w})
		}, []string{"create Deployment web by kubectl resource_version=101 user=jane match=resource_version"}},
		"NameUsedAgain": {"a name means the object that was there", func(s *story) {
			s.write("web", deployment(0))
			s.gone("web")
			s.write("web", func(st *observation.State) { st.UID, st.Created = "uid-second", epoch.Add(time.Hour) })
			s.audited("web", "create", nameless, func(w *observation.Write) {
				w.Start, w.End = epoch.Add(50*time.Millisecond), epoch.Add(90*time.Millisecond)
			})
		}, []string{"create Deployment web by kubectl resource_version=101 user=jane match=name"}},
		"NameUsedInOneSecond": {"a deletion belongs to the object that was deleted then", func(s *story) {
			s.write("db-0", pod(""), bind, ready)
			s.before()
			s.rv += 100
			s.write("db-0", deleting)
			s.audited("db-0", "delete", nameless)
			s.gone("db-0")
			s.audited("db-0", "delete", nameless, func(w *observation.Write) {
				w.User, w.UserAgent = "system:node:node-1", "kubelet/v1.36.3"
			})
			delete(s.objects, "db-0")
			s.write("db-0", pod(""), bind, ready, func(st *observation.State) { st.UID = "uid-second" })
			s.rv += 100
			s.write("db-0", deleting)
			s.audited("db-0", "delete", nameless, func(w *observation.Write) { w.User = "joe" })
		}, []string{
			"delete Pod db-0 by kubectl resource_version=202 user=jane match=name",
			"delete Pod db-0 by kubelet resource_version=203 user=system:node:node-1 match=name",
			"delete Pod db-0 by kubectl resource_version=305 user=joe match=name",
		}},
		"Unseen": {"an unwatched version was stored all the same", func(s *story) {
			s.write("web", deployment(0))
			s.rv++
			s.audited("web", "patch", func(w *observation.Write) { w.Subresource = "status" })
			s.write("web", arrived)
		}, []string{"update Deployment web by kubectl resource_version=102 user=jane match=resource_version"}},
		"Controller": {"a service account names the controller", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", arrived)
			s.audited("web", "update", func(w *observation.Write) {
				w.User = "system:serviceaccount:kube-system:deployment-controller"
				w.UserAgent, w.Subresource = "kube-controller-manager/v1", "status"
			})
		}, []string{"update Deployment web by deployment-controller resource_version=102 " +
			"user=system:serviceaccount:kube-system:deployment-controller match=resource_version"}},
		"Removed": {"the deletion ends the object at once", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", arrived)
			s.gone("web")
			s.audited("web", "delete", unnumbered, func(w *observation.Write) { w.Removes = true })
		}, []string{"delete Deployment web by kubectl resource_version=103 user=jane match=uid"}},
		"Conflicts": {
			"a loop of conflicts is a few spans and a count",
			func(s *story) {
				s.write("web", deployment(1))
				for i := range 50 {
					s.audited("web", "update", refusedWith(409, "Conflict"), func(w *observation.Write) {
						w.AuditID = fmt.Sprint("conflict-", i)
						w.Start, w.End = w.Start.Add(time.Duration(i)*time.Millisecond), w.End.Add(
							time.Duration(i)*time.Millisecond,
						)
					})
				}
			},
			[]string{
				"update Deployment web by kubectl user=jane refused",
				"update Deployment web by kubectl user=jane refused",
				"update Deployment web by kubectl user=jane refused",
				"update Deployment web by kubectl user=jane repeats=46 refused",
			},
		},
		"InVain": {"a forbidden change is a separate trace", func(s *story) {
			s.write("web", deployment(0))
			s.audited("web", "create", refusedWith(403, "Forbidden"), func(w *observation.Write) {
				w.UID, w.Name, w.Verb = "", "other", "create"
			})
		}, []string{"create Deployment other by kubectl user=jane refused"}},
		"ByQuota": {"the refusal of a creation is on the owner", func(s *story) {
			s.write("web", deployment(1))
			s.write("web-1", replicaSet("web", 1))
			s.audited("web-1", "create", refusedWith(403, "Forbidden"), func(w *observation.Write) {
				w.Ref = object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default", Name: "web-1-x"}
				w.Controller = "uid-web-1"
				w.User = "system:serviceaccount:kube-system:replicaset-controller"
			})
		}, []string{"create Pod web-1-x by kubectl user=system:serviceaccount:kube-system:replicaset-controller " +
			"refused"}},
		"LooksAgain": {"a controller's refused write begins no change while nothing is open", func(s *story) {
			s.write("web", deployment(0))
			s.write("web", arrived)
			s.before()
			s.audited("web", "update", refusedWith(409, "Conflict"), func(w *observation.Write) {
				w.User = "system:serviceaccount:kube-system:deployment-controller"
			})
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			end := s.now().Add(2 * time.Hour)
			var without []*observation.Observation
			for _, o := range s.seen {
				if o.Source != observation.SourceAudit {
					without = append(without, o)
				}
			}
			got := writesOf(observe(s.seen).Traces(end))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			ids := map[string]bool{}
			for _, tr := range observe(s.seen).Traces(end) {
				ids[tr.ID.String()] = true
			}
			for _, tr := range observe(without).Traces(end) {
				if !ids[tr.ID.String()] {
					t.Error("the audit log changes the ID of a trace")
				}
			}
			inAnyOrder(t, s, writesOf)
		})
	}
}

// TestAuditServer: the span of a request links to the API server's span in another trace, which
// admission noted.
func TestAuditServer(t *testing.T) {
	const server = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, told := range map[string]string{
		"":      "",
		"00-zz": "",
		server:  "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7 server",
	} {
		s := newStory()
		s.write("web", deployment(0))
		s.audited("web", "create", func(w *observation.Write) { w.Server = name })
		s.write("web", arrived)
		traces, got := observe(s.seen).Traces(s.now().Add(time.Minute)), ""
		for _, tr := range traces {
			for _, sp := range tr.Spans {
				for _, l := range sp.Links {
					got += fmt.Sprintf("%s/%s %s", l.TraceID, l.SpanID, l.Reason)
					if !sp.IsWrite() {
						t.Errorf("%s links it", sp.Name)
					}
				}
			}
		}
		if got != told {
			t.Errorf("server %q: it is linked as %q, want %q", name, got, told)
		}
	}
}

// TestAuditAfterTake observes audit events after the handing out of their trace. A new write
// becomes an amendment. A write in the trace is not repeated.
func TestAuditAfterTake(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0))
	first := s.audited("web", "create")
	s.write("web", arrived)
	e := observe(s.seen)
	if n := len(e.Take(s.now().Add(time.Minute))); n != 1 {
		t.Fatalf("%d traces were taken, want 1", n)
	}
	late := s.audited("web", "update", func(w *observation.Write) { w.Subresource = "status" })
	for _, w := range []*observation.Write{first, late, late} {
		e.Observe(&observation.Observation{Seen: s.now(), Source: observation.SourceAudit, Write: w})
	}
	amended := e.Amendments()
	if len(amended) != 1 || len(amended[0].Spans) != 1 || len(amended[0].Spans[0].Events) != 1 {
		t.Fatalf("amended: %+v, want one event on one span", amended)
	}
	text := fmt.Sprint(amended[0].Spans[0].Events[0])
	for _, want := range []string{"write", late.AuditID, "jane", "audit"} {
		if !strings.Contains(text, want) {
			t.Errorf("the amendment lacks %q: %s", want, text)
		}
	}
	want := []span.Write{{
		Verb: "update", Subresource: "status", ResourceVersion: int64(late.ResourceVersion), Actor: "kubectl",
		User: "jane", AuditID: late.AuditID, Start: late.Start, End: late.End, Source: span.TimeAudit,
	}}
	if diff := cmp.Diff(want, amended[0].Spans[0].Facts.Writes); diff != "" {
		t.Errorf("the typed write, -want +got:\n%s", diff)
	}
	if len(e.Take(s.now().Add(time.Hour))) != 0 {
		t.Error("a trace was taken twice")
	}
}

// TestTypedAuditedWrites: a write that only the audit log shows (103) is the one before the next
// observed write.
func TestTypedAuditedWrites(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0))
	s.write("web", scaled(2))
	s.rv++
	s.audited("web", "patch")
	s.write("web", scaled(3))
	s.write("web", scaled(4))
	s.audited("web", "patch")
	s.write("web", arrived)
	var got []string
	for _, tr := range observe(s.seen).Traces(s.now().Add(2 * time.Hour)) {
		for _, sp := range tr.Spans {
			if sp.Facts == nil || sp.Object.Kind.Kind != "Deployment" {
				continue
			}
			for _, w := range sp.Facts.Writes {
				if w.Part != "observed" {
					got = append(got, fmt.Sprintf("%d on %d %s user=%s audit=%s %s", w.ResourceVersion, w.BasedOn,
						w.Actor, w.User, w.AuditID, w.Source))
				}
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"101 on 0 kubectl user= audit= watch", "102 on 101  user= audit= watch",
		"103 on 102 kubectl user=jane audit=audit-103 audit", "104 on 103  user= audit= watch",
		"105 on 104 kubectl user=jane audit=audit-105 audit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestInVainOnce: a refused change is handed out once, however often its request is repeated.
func TestInVainOnce(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0))
	s.write("web", arrived)
	s.before()
	e := observe(s.seen)
	taken, spans, further := 0, 0, int64(0)
	var id trace.TraceID
	for i := range 100 {
		w := *s.audited("web", "patch", refusedWith(422, "Invalid"))
		at := s.now().Add(time.Duration(i) * 10 * time.Second)
		w.Start, w.End, w.AuditID = at, at, fmt.Sprint("try-", i)
		e.Observe(&observation.Observation{Seen: at, Source: observation.SourceAudit, Write: &w})
		now := at.Add(5 * time.Second)
		if i == 99 {
			now = at.Add(time.Hour)
		}
		for _, one := range e.Take(now) {
			taken++
			id = one.ID
			spans += len(one.Spans)
		}
		for _, one := range e.Amendments() {
			if one.ID != id {
				t.Errorf("another trace %s is amended", one.ID)
			}
			for _, s := range one.Spans {
				if s.Name != span.NameLate {
					spans++
					continue
				}
				for _, a := range s.Events[0].Attributes {
					if a.Key == span.KeyRepeats {
						further += a.Value.AsInt64()
					}
				}
			}
		}
	}
	if taken != 1 || spans != 4 || further != 96 {
		t.Errorf("%d traces of one change in vain with %d spans, %d further ones; want 1, 4 and 96",
			taken, spans, further)
	}
	if got := e.AuditStats(); got.Refused != 100 || got.Repeated != 96 {
		t.Errorf("counted %+v", got)
	}
}

// TestAuditBounded floods an engine with writes to unwatched objects, with refusals, and with
// requests that change nothing.
func TestAuditBounded(t *testing.T) {
	s := newStory()
	s.write("web", deployment(0))
	s.write("web", arrived)
	e := observe(s.seen)
	for i := range 3 * trail.MaxWaiting {
		at := s.now().Add(time.Duration(i) * time.Microsecond)
		w := &observation.Write{
			Ref: object.Ref{
				Kind: object.Kind{Version: "v1", Kind: "Pod"},
				Name: fmt.Sprint("p-", i),
				UID:  types.UID(fmt.Sprint("u-", i)),
			},
			Verb:    "patch",
			Code:    200,
			Start:   at,
			End:     at,
			AuditID: fmt.Sprint("a-", i),
		}
		switch i % 3 {
		case 1:
			w.Code, w.User = 403, fmt.Sprint("user-", i)
		case 2:
			w.Ref = s.objects["web"].Ref
		}
		e.Observe(&observation.Observation{Seen: at, Source: observation.SourceAudit, Write: w})
	}
	loose := len(e.index.Objects()["uid-web"].Audits.List)
	waiting, refused, sightings := e.trail.Size()
	if waiting > trail.MaxWaiting || refused > trail.MaxRefused || sightings > trail.MaxSightings ||
		loose > trail.MaxLoose+2 || len(e.index.Objects()) != 1 {
		t.Errorf("%d waiting, %d refusals, %d sightings, %d of one object, %d objects",
			waiting, refused, sightings, loose, len(e.index.Objects()))
	}
	e.Take(s.now().Add(time.Hour))
	e.Take(s.now().Add(2 * time.Hour))
	e.Take(s.now().Add(3 * time.Hour))
	waiting, refused, sightings = e.trail.Size()
	if n := waiting + refused + sightings; n != 0 {
		t.Errorf("%d things are remembered for ever", n)
	}
}

// TestAuditRestored saves and restores after each observation.
func TestAuditRestored(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1))
	s.audited("web", "create", func(w *observation.Write) { w.UID, w.ResourceVersion = "", 0 })
	s.audited("web", "update", refusedWith(409, "Conflict"))
	s.write("web-1", replicaSet("web", 1))
	s.audited("web", "patch", refusedWith(403, "Forbidden"), func(w *observation.Write) { w.UID, w.Name = "", "other" })
	s.write("web", arrived)
	s.audited("web", "update", func(w *observation.Write) { w.Subresource = "status" })
	for seed := range uint64(10) {
		left, moved := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
		for _, o := range permuted(s.seen, seed) {
			left.Observe(o)
			moved.Observe(o)
			moved = restored(t, moved)
		}
		for _, d := range []time.Duration{time.Second, time.Hour, 3 * time.Hour, 7 * time.Hour} {
			now := s.now().Add(d)
			if want, got := ask(left, now), ask(moved, now); !reflect.DeepEqual(want, got) {
				t.Fatalf("after %s: left alone it gives %+v, restored %+v", d, want, got)
			}
			moved = restored(t, moved)
		}
	}
}
