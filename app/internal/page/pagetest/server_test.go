// SPDX-License-Identifier: Apache-2.0

// Package pagetest serves the page, and the API over samples, for tests in a browser: `npm test` in the folder
// web runs it.
package pagetest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/page"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestServer serves until its input ends. It prints the address and the IDs of the traces.
func TestServer(t *testing.T) {
	address := os.Getenv("LIFELINE_PAGE_TEST")
	if address == "" {
		t.Skip("LIFELINE_PAGE_TEST has no address: the tests in the folder web set it")
	}
	s := &samples{tb: t, view: viewtest.New(t), hub: &api.Hub{}, begun: time.Now()}
	named := s.finished()
	s.grow(0, false)
	named["growing"] = s.growing
	server, err := api.New(api.Options{
		Access: s.view.Access, Hub: s.hub, Cluster: "cluster-1",
		Info: func() api.Info {
			return api.Info{Version: "test", Cluster: "cluster-1", AsOf: time.Now(), Leading: true}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", server)
	mux.Handle("/", page.Handler())
	mux.HandleFunc("POST /grow/{pods}", func(_ http.ResponseWriter, r *http.Request) {
		pods, _ := strconv.Atoi(r.PathValue("pods"))
		s.grow(pods, r.URL.Query().Get("end") != "")
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(listener, mux) }()
	fmt.Printf("serving http://%s\n", listener.Addr())
	for name, one := range named {
		fmt.Printf("trace %s %s\n", name, one.ID)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = server.Close()
	_ = listener.Close()
}

type samples struct {
	tb    testing.TB
	view  *viewtest.View
	hub   *api.Hub
	begun time.Time

	mu      sync.Mutex
	growing *span.Trace
	pods    int
}

// finished stores the traces that have ended, and the open ones that stay.
func (s *samples) finished() map[string]*span.Trace {
	healing := spantest.Healing()
	named := map[string]*span.Trace{
		"apply":     spantest.Apply(),
		"joined":    renamed(spantest.Joined(), "joined"),
		"crashloop": closed(spantest.CrashLoop()),
		"hostile":   spantest.Hostile(),
		"delete":    healing[0],
		"heal":      healing[1],
		"rollout":   closed(spantest.Rollout()),
		"many":      spantest.Many(1000),
		"writes":    writes(),
		"wide":      wide(60, 28),
		"deep":      foreign(250_000),
		"cordon":    spantest.Cordon("node-8", 100),
	}
	open := map[string]*span.Trace{
		"unschedulable": spantest.Unschedulable(), "causes": spantest.Causes(), "rejected": spantest.Rejected(),
	}
	var put viewtest.Traces
	for _, one := range named {
		put.Finished = append(put.Finished, s.late(one))
	}
	for name, one := range open {
		put.Open = append(put.Open, s.late(one))
		named[name] = one
	}
	s.view.Put(s.tb, s.begun, put)
	return named
}

// late moves a trace to a minute before now.
func (s *samples) late(t *span.Trace) *span.Trace {
	by := s.begun.Add(-time.Minute).Sub(spantest.Epoch)
	for _, one := range t.Spans {
		one.Start.Time = one.Start.Add(by)
		if !one.Open() {
			one.End.Time = one.End.Add(by)
		}
		for i := range one.Events {
			one.Events[i].Time = one.Events[i].Time.Add(by)
		}
		for i, a := range one.Attributes {
			if a.Key == span.KeyReasonSince {
				one.Attributes[i] = a.Key.String(s.begun.Add(-50 * time.Second).UTC().Format(time.RFC3339Nano))
			}
		}
		if one.Facts != nil {
			for i := range one.Facts.Writes {
				w := &one.Facts.Writes[i]
				w.Start, w.End = w.Start.Add(by), w.End.Add(by)
			}
		}
	}
	return t
}

// renamed gives a trace another ID.
func renamed(t *span.Trace, name string) *span.Trace {
	t.ID = span.DeriveTraceID(name)
	for _, one := range t.Spans {
		one.TraceID = t.ID
	}
	return t
}

// closed ends the open spans of a trace.
func closed(t *span.Trace) *span.Trace {
	for _, one := range t.Spans {
		if one.Open() {
			one.End = spantest.At(14_000)
		}
	}
	return t
}

// grow adds Pods to the growing trace, or ends it.
func (s *samples) grow(pods int, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods += pods
	b := spantest.New("growing")
	d := b.Deployment(nil, 0, -1)
	rs := b.ReplicaSet(d, 60, -1)
	for i := range s.pods {
		b.Pod(rs, fmt.Sprintf("web-6cf-%02d", i), 1000+400*i, 4000+500*i)
	}
	if end {
		for _, one := range b.Trace.Spans {
			if one.Open() {
				one.End, one.Outcome = spantest.At(90_000), span.Converged
			}
		}
	} else {
		b.Trace.Outcome = span.Unfinished
	}
	s.growing = s.late(b.Trace)
	now := time.Now()
	put := viewtest.Traces{Open: []*span.Trace{s.growing}}
	if end {
		put = viewtest.Traces{Finished: []*span.Trace{s.growing}}
	}
	s.view.Put(s.tb, now, put)
	s.hub.Publish([]api.Update{{Trace: s.growing, Open: !end, AsOf: now}})
}

// writes is a change with typed writes.
func writes() *span.Trace {
	b := spantest.New("writes")
	d := b.Deployment(nil, 0, 4200)
	d.Attributes = append(d.Attributes,
		span.KeyActor.String("kubectl"), span.KeyActorUser.String("alice@example.com"), span.KeyVerb.String("update"),
		span.KeyEdits.StringSlice([]string{"image web:1 → web:2", "replicas 2 → 4"}),
	)
	d.Facts = &span.Facts{Verb: "update", Writes: []span.Write{
		{
			Verb:            "update",
			Part:            "desired",
			Actor:           "kubectl",
			User:            "alice@example.com",
			ResourceVersion: 812,
			BasedOn:         807,
			Start:           spantest.At(0).Time,
			End:             spantest.At(12).Time,
			Source:          span.TimeAudit,
			Changes: []span.FieldChange{
				{Path: "spec.replicas", Operation: span.FieldReplaced, From: "2", To: "4"},
				{
					Path: "spec.template.spec.containers[name=web].image", Operation: span.FieldReplaced,
					From: "registry.example.com/shop/web:1", To: "registry.example.com/shop/web:2",
				},
				{Path: "spec.template.spec.containers[name=web].env[name=<script>]", Operation: span.FieldAdded},
				{Path: "spec.paused", Operation: span.FieldRemoved},
			},
			MoreChanges: 3,
		},
		{
			Verb: "update", Part: "observed", Subresource: "status", Actor: "deployment-controller",
			Start: spantest.At(900).Time, End: spantest.At(900).Time, Source: span.TimeWatch,
		},
	}}
	rs := b.ReplicaSet(d, 60, 4180)
	for i := range 4 {
		b.Pod(rs, fmt.Sprintf("web-6cf-x%d", i), 90+i*35, 3000+i*390)
	}
	b.Trace.Spans = span.TreeOrder(b.Trace.Spans)
	return b.Trace
}

// wide is a command that changes Deployments of some Pods each: 10,000 spans of Lifeline.
func wide(deployments, pods int) *span.Trace {
	b := spantest.New("wide")
	run := b.Run("helm upgrade everything ./charts", 0, 60_000)
	for i := range deployments {
		name := fmt.Sprintf("service-%02d", i)
		d := b.Add(run, "reconcile Deployment", "deployment-controller", spantest.Ref("apps", "Deployment", name),
			10*i, 30_000+400*i)
		d.Outcome = span.Converged
		rs := b.Add(d, "reconcile ReplicaSet", "replicaset-controller",
			spantest.Ref("apps", "ReplicaSet", name+"-6cf"), 20+10*i, 29_000+400*i)
		rs.Outcome = span.Converged
		for k := range pods {
			b.Pod(rs, fmt.Sprintf("%s-6cf-%03d", name, k), 100+10*i+7*k, 9000+300*i+(k*k*37)%9000)
		}
	}
	return b.Trace
}

// foreign is a rollout with that many spans of other components.
func foreign(spans int) *span.Trace {
	b := spantest.New("foreign")
	d := b.Deployment(nil, 0, 60_000)
	rs := b.ReplicaSet(d, 60, 59_000)
	resource := &span.Resource{Attributes: []attribute.KeyValue{attribute.String("service.name", "kubelet")}}
	const pods = 50
	for i := range pods {
		pod := b.Pod(rs, fmt.Sprintf("web-6cf-%03d", i), 100+20*i, 50_000+100*i)
		for k := range spans / pods {
			s := b.Add(
				pod,
				"runtime.v1.RuntimeService/ContainerStatus",
				"kubelet",
				object.Ref{},
				200+20*i+k*9,
				204+20*i+k*9,
			)
			s.Evidence, s.Start.Source, s.End.Source = span.ByIdentity, "", ""
			s.Origin = &span.Origin{
				TraceID:  span.DeriveTraceID("kubelet"),
				Kind:     trace.SpanKindClient,
				Resource: resource,
			}
		}
	}
	return b.Trace
}

// TestSamples: the samples have the sizes that the measurements name.
func TestSamples(t *testing.T) {
	if n := len(wide(60, 28).Spans); n < 10_000 || n > 11_000 {
		t.Errorf("got %d spans of Lifeline", n)
	}
	others := 0
	for _, s := range foreign(250_000).Spans {
		if s.Origin != nil && strings.HasPrefix(s.Name, "runtime") {
			others++
		}
	}
	if others != 250_000 {
		t.Errorf("got %d spans of other components", others)
	}
}
