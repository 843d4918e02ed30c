// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/jaeger/internal/jaeger"
)

// answers compares the server's answers to the requests of Jaeger's page with those of Jaeger, which has
// the same spans. Except is the trace that has more spans in Jaeger.
func answers(t *testing.T, s *harness.Server, backend *jaeger.Server, ns, except string) {
	t.Helper()
	mine := jaeger.At(s.APIAddress())
	// The spans that only Jaeger has.
	added := map[string]bool{"amend": true, "last": true, "other": true, "missing-service-name": true}
	others := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return added[name] })
	}

	services := mine.Services(t)
	if d := gocmp.Diff(others(backend.Services(t)), services, sorted); d != "" || len(services) < 5 {
		t.Errorf("%d services, -Jaeger +server:\n%s", len(services), d)
	}
	searches, results := 0, 0
	search := func(q url.Values) {
		t.Helper()
		if backend.Storage != jaeger.Memory {
			return // Badger does not look for one span with all properties
		}
		there, here := backend.Search(t, q), mine.Search(t, q)
		searches++
		results += len(here)
		if d := gocmp.Diff(there, here, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("search %v: -Jaeger +server:\n%s", q, d)
		}
	}
	for _, service := range services {
		operations := mine.Operations(t, service)
		if d := gocmp.Diff(others(backend.Operations(t, service)), operations, sorted); d != "" ||
			len(operations) == 0 {
			t.Errorf("operations of %s: -Jaeger +server:\n%s", service, d)
		}
		for _, operation := range operations {
			search(url.Values{"service": {service}, "operation": {operation}})
			search(url.Values{"service": {service}, "operation": {operation}, "minDuration": {"20ms"}})
			search(url.Values{
				"service":     {service},
				"operation":   {operation},
				"maxDuration": {"1s"},
				"minDuration": {"1ms"},
			})
		}
	}
	for _, tags := range []string{
		`{"k8s.object.kind":"Pod"}`, `{"k8s.object.kind":"Deployment","k8s.object.name":"web"}`,
		fmt.Sprintf(`{"k8s.object.namespace":%q}`, ns),
		`{"lifeline.outcome":"superseded"}`, `{"lifeline.outcome":"converged"}`,
		`{"lifeline.actor.component":"kubectl"}`,
	} {
		for _, service := range []string{"deployment-controller", "kubelet", "replicaset-controller"} {
			search(url.Values{"service": {service}, "tags": {tags}})
		}
	}
	spans := 0
	for _, sum := range s.List(t, nil) {
		if sum.TraceID == except {
			continue
		}
		there, here := backend.Raw(t, sum.TraceID), mine.Raw(t, sum.TraceID)
		spans += len(here.Spans)
		if d := gocmp.Diff(shown(there), shown(here), cmpopts.EquateEmpty(), sorted); d != "" {
			t.Errorf("trace %s: -Jaeger +server:\n%s", sum.TraceID, d)
		}
	}
	if there, here := backend.Page(t, unknown), mine.Page(t, unknown); there != nil || here != nil {
		t.Error("an unknown trace is found")
	}
	t.Logf(
		"the same answers: %d services, %d searches with %d results, %d spans",
		len(services),
		searches,
		results,
		spans,
	)
	if (results == 0) != (backend.Storage != jaeger.Memory) || spans == 0 {
		t.Error("nothing was compared")
	}
}

// unknown is the ID of no trace.
const unknown = "fffffffffffffffffffffffffffffffe"

var sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })

// shown has everything on a page, by span, in a form without an order.
func shown(tr *jaeger.Trace) map[string][]string {
	tags := func(prefix string, from []jaeger.Tag) (out []string) {
		for _, tag := range from {
			out = append(out, fmt.Sprintf("%s %s %s %v", prefix, tag.Key, tag.Type, tag.Value))
		}
		return out
	}
	out := map[string][]string{}
	for _, s := range tr.Spans {
		of := tr.Processes[s.ProcessID]
		texts := []string{
			"name " + s.Name,
			"service " + of.Service,
			fmt.Sprint("start ", s.StartTime),
			fmt.Sprint("duration ", s.Duration),
		}
		texts = append(texts, tags("process", of.Tags)...)
		texts = append(texts, tags("tag", s.Tags)...)
		for _, l := range s.Logs {
			texts = append(texts, tags(fmt.Sprint("log ", l.Timestamp), l.Fields)...)
		}
		for _, r := range s.References {
			texts = append(texts, fmt.Sprintf("%s %s %s", r.Type, r.TraceID, r.SpanID))
		}
		out[s.SpanID] = texts
	}
	return out
}
