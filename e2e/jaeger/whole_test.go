// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/jaeger/internal/jaeger"
)

// TestEachTraceIsWhole: Jaeger has each trace of the server unchanged. This holds for both
// protocols and storages, and across a kill of the server.
func TestEachTraceIsWhole(t *testing.T) {
	for name, c := range map[string]struct {
		storage jaeger.Storage
		at      func(*jaeger.Server) string
	}{
		"gRPC, memory": {jaeger.Memory, func(s *jaeger.Server) string { return "grpc://" + s.GRPC }},
		"HTTP, Badger": {jaeger.Badger, func(s *jaeger.Server) string { return "http://" + s.HTTP }},
	} {
		t.Run(name, func(t *testing.T) {
			backend := jaeger.Run(t, built, c.storage)
			s := serve(t, c.at(backend))
			ns := bench.Namespace(t)
			changes(t, s, ns)
			s.AwaitIdle(t)
			except := repeated(t, s, backend, ns)
			whole(t, s, backend, except)
			found(t, s, backend, ns)
			answers(t, s, backend, ns, except)
			s.Stop(t)
		})
	}
}

// serve runs a server that receives the components' spans, and sends all traces to otlp.
func serve(t *testing.T, otlp string) *harness.Server {
	t.Helper()
	s := bench.Server(t, harness.ServerOptions{
		OTLP: otlp,
		Config: fmt.Sprintf(
			"receivers: {otlp: {grpc: {address: %q}}, audit: {logFile: %q}}\n",
			receiver,
			bench.AuditLog(),
		),
	})
	s.Start(t)
	return s
}

// changes makes traces of many kinds. Some of them link to others.
func changes(t *testing.T, s *harness.Server, ns string) {
	t.Helper()
	kubectl := func(args ...string) { bench.MustKubectl(t, "", append([]string{"-n", ns}, args...)...) }
	rolled := func() { kubectl("rollout", "status", "deployment/web", "--timeout=4m") }
	kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
	kubectl("create", "service", "clusterip", "web-service", "--tcp=80")
	rolled()
	kubectl("scale", "deployment/web", "--replicas=5")
	rolled()
	// The second rollout supersedes the first.
	kubectl("set", "image", "deployment/web", "web=web:2")
	kubectl("set", "image", "deployment/web", "web=web:3")
	s.Kill(t)
	s.Start(t)
	rolled()
	// The cluster heals itself.
	pods := strings.Fields(bench.MustKubectl(t, "", "-n", ns, "get", "pods", "-o", "name"))
	kubectl("delete", pods[0])
	rolled()
	kubectl("create", "job", "once", "--image=once:1")
	kubectl("wait", "--for=condition=complete", "job/once", "--timeout=4m")
	kubectl("delete", "deployment/web")
	kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=4m")
}

// whole checks every finished trace of the server, except one.
func whole(t *testing.T, s *harness.Server, backend *jaeger.Server, except string) {
	t.Helper()
	var all []*harness.Trace
	for _, sum := range s.List(t, nil) {
		if sum.TraceID == except {
			continue
		}
		tr, page := same(t, s, backend, sum.TraceID)
		if roots, orphans := tr.Roots(), tr.Orphans(); len(roots) != 1 || len(orphans) > 0 {
			t.Errorf("trace %s has %d roots and %d spans with a missing parent", tr.ID, len(roots), len(orphans))
		}
		explained(t, page, tr)
		all = append(all, tr)
	}
	tell(t, all, backend)
}

// same waits until Jaeger and the server have the same version of a trace, and returns it with
// Jaeger's page of it. Spans of components may arrive late at either: after the server's kill the
// API server waits for many seconds before it sends a batch again.
func same(t *testing.T, s *harness.Server, backend *jaeger.Server, id string) (*harness.Trace, *jaeger.Trace) {
	t.Helper()
	diff := ""
	defer func() {
		if diff != "" {
			t.Logf("trace %s (-server +Jaeger):\n%s", id, diff)
		}
	}()
	var stored *harness.Trace
	var page *jaeger.Trace
	harness.Eventually(t, "the server's version of trace "+id+" in Jaeger", func() bool {
		stored = s.Trace(t, id)
		diff = gocmp.Diff(
			[]*harness.Trace{asThere(stored, backend)},
			backend.OTLP(t, id),
			cmpopts.EquateEmpty(),
			// Jaeger sorts the events of a span by name.
			cmpopts.SortSlices(
				func(a, b harness.Event) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name)) },
			),
			cmpopts.IgnoreMapEntries(func(name, _ string) bool { return name == jaeger.Warnings }),
		)
		if diff != "" {
			return false
		}
		page = backend.Page(t, id) // not before: Jaeger in memory recognizes no repeated span after this
		diff = gocmp.Diff(references(stored), pageReferences(page), cmpopts.EquateEmpty())
		return diff == ""
	})
	return stored, page
}

// asThere returns a trace with the differences that Jaeger's storage makes.
func asThere(tr *harness.Trace, backend *jaeger.Server) *harness.Trace {
	out := &harness.Trace{ID: tr.ID}
	for _, s := range tr.Spans {
		there := *s
		if s.End.Equal(s.Start) {
			there.End = s.End.Add(time.Nanosecond) // Jaeger stores no span of length 0
		}
		if backend.Storage == jaeger.Badger {
			there.Links = slices.Clone(s.Links)
			for i := range there.Links {
				there.Links[i].Why = "" // Badger stores no attributes of links
			}
		}
		out.Spans = append(out.Spans, &there)
	}
	return out
}

// references returns the parent and the links of each span, by its ID.
func references(tr *harness.Trace) map[string][]string {
	out := map[string][]string{}
	for _, s := range tr.Spans {
		refs := []string{}
		if s.Parent != "" {
			refs = append(refs, "CHILD_OF "+tr.ID+" "+s.Parent)
		}
		for _, l := range s.Links {
			refs = append(refs, "FOLLOWS_FROM "+l.Trace+" "+l.Span)
		}
		slices.Sort(refs)
		out[s.ID] = refs
	}
	return out
}

// faults are Jaeger's warnings about correct spans, each with the condition that explains it. The
// correction of clocks is disabled, but Jaeger warns about a span that lies outside its parent, and
// about the spans below it. And it warns about a span of no length as about a negative one.
var faults = map[string]func(s *harness.Span, byID map[string]*harness.Span) bool{
	"clock skew adjustment disabled": func(s *harness.Span, byID map[string]*harness.Span) bool {
		for parent := byID[s.Parent]; parent != nil; s, parent = parent, byID[parent.Parent] {
			if s.Start.Before(parent.Start) || s.End.After(parent.End) {
				return true
			}
		}
		return false
	},
	"Negative duration detected": func(s *harness.Span, _ map[string]*harness.Span) bool {
		return s.End.Equal(s.Start)
	},
}

// fault returns the condition of a warning, by its first words; "" and nil if there is none.
func fault(warning string) (string, func(*harness.Span, map[string]*harness.Span) bool) {
	for text, explains := range faults {
		if strings.HasPrefix(warning, text) {
			return text, explains
		}
	}
	return "", nil
}

// pageReferences returns the references on Jaeger's page, by span ID. A span that occurs twice has
// those of both.
func pageReferences(page *jaeger.Trace) map[string][]string {
	out := map[string][]string{}
	for _, s := range page.Spans {
		refs := out[s.SpanID]
		for _, r := range s.References {
			refs = append(refs, r.Type+" "+r.TraceID+" "+r.SpanID)
		}
		slices.Sort(refs)
		out[s.SpanID] = refs
	}
	return out
}

// explained checks that the page has each span once, that no span ends before it starts, and that
// the server's trace explains each of Jaeger's warnings.
func explained(t *testing.T, page *jaeger.Trace, stored *harness.Trace) {
	t.Helper()
	byID := map[string]*harness.Span{}
	for _, s := range stored.Spans {
		byID[s.ID] = s
		if s.End.Before(s.Start) {
			t.Errorf(
				"span %s %s of trace %s ends at %s, before its start at %s",
				s.Name,
				s.ID,
				stored.ID,
				s.End,
				s.Start,
			)
		}
	}
	seen, warned := map[string]bool{}, map[string]int{}
	for _, s := range page.Spans {
		if seen[s.SpanID] {
			t.Errorf("span %s %s occurs twice in trace %s", s.Name, s.SpanID, page.TraceID)
		}
		seen[s.SpanID] = true
		for _, w := range s.Warnings {
			text, explains := fault(w)
			if mine := byID[s.SpanID]; explains == nil || mine == nil || !explains(mine, byID) {
				t.Errorf("Jaeger warns about span %s %s of trace %s: %q", s.Name, s.SpanID, page.TraceID, w)
				continue
			}
			warned[text]++
		}
	}
	t.Logf("trace %s: %d spans; warnings: %v", page.TraceID, len(page.Spans), warned)
}

// tell logs the number of compared traces, spans and links. It checks that there were enough of
// them, and that the target of each link exists.
func tell(t *testing.T, all []*harness.Trace, backend *jaeger.Server) {
	t.Helper()
	known := map[harness.Link]bool{}
	spans, links := map[string]int{}, map[string]int{}
	for _, tr := range all {
		for _, s := range tr.Spans {
			known[harness.Link{Trace: tr.ID, Span: s.ID}] = true
			spans[s.Service]++
		}
	}
	for _, tr := range all {
		for _, s := range tr.Spans {
			for _, l := range s.Links {
				links[l.Why]++
				if !known[harness.Link{Trace: l.Trace, Span: l.Span}] {
					t.Errorf(
						"the link %q of span %s in trace %s leads to span %s of trace %s, which does not exist",
						l.Why,
						s.Name,
						tr.ID,
						l.Span,
						l.Trace,
					)
				}
			}
		}
	}
	t.Logf(
		"%d traces are the same; spans by service: %v; links: %v; Jaeger's services: %q",
		len(all),
		spans,
		links,
		backend.Services(t),
	)
	if len(all) < 6 || len(links) == 0 || spans["apiserver"] == 0 || spans["etcd"] == 0 {
		t.Error("too few traces: want at least 6, with links and spans of apiserver and etcd")
	}
}

// found checks that a search on Jaeger's page finds the traces of a namespace.
func found(t *testing.T, s *harness.Server, backend *jaeger.Server, ns string) {
	t.Helper()
	there := backend.Find(t, "deployment-controller", ns)
	for id, tr := range s.Traces(t, ns) {
		if len(tr.Find("reconcile Deployment", "web")) > 0 && !there[id] {
			t.Errorf("a search for the Deployment controller's spans in namespace %s does not find trace %s", ns, id)
		}
	}
}
