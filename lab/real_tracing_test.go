// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// receiver is an OTLP endpoint that keeps all spans, by service name.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans map[string][]*trace.Span
}

// receive starts a receiver and returns its address too.
func receive(t *testing.T) (*receiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{spans: map[string][]*trace.Span{}}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		// It may be stopped before it serves, where the test is skipped.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return r, listener.Addr().String()
}

func (r *receiver) Export(
	_ context.Context,
	req *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			r.spans[service] = append(r.spans[service], scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// longest returns the longest span of a service whose name ends so.
func (r *receiver) longest(service, suffix string) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	longest := time.Duration(-1)
	for _, s := range r.spans[service] {
		if strings.HasSuffix(s.GetName(), suffix) {
			longest = max(longest, time.Duration(s.GetEndTimeUnixNano()-s.GetStartTimeUnixNano()))
		}
	}
	if longest < 0 {
		return 0, fmt.Errorf("no span %s of %s among %d", suffix, service, len(r.spans[service]))
	}
	return longest, nil
}

func TestRealNodeSendsSpans(t *testing.T) {
	spans, address := receive(t)
	all := Tracing{Endpoint: address, SamplingRatePerMillion: 1_000_000}
	c := startReal(t, Options{Tracing: map[Component]Tracing{Kubelet: all, Containerd: all}})

	const size, bandwidth = 2 << 20, 4 << 20
	image, err := c.PushImage(t.Context(), "app:slow", testimage.Spec{Padding: size})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPullBandwidth(t.Context(), bandwidth); err != nil {
		t.Fatal(err)
	}
	apply(t, c, pod("slow", image, nil))
	eventually(t, func() error { return podReady(t, c, "slow") })

	for service, name := range map[string]string{
		"kubelet":    "runtime.v1.ImageService/PullImage",
		"containerd": "runtime.v1.ImageService/PullImage",
	} {
		var took time.Duration
		eventually(t, func() (err error) {
			if took, err = spans.longest(service, name); err == nil && took < 450*time.Millisecond {
				err = errors.New("the pull of the Pod's image is not there yet")
			}
			return err
		})
		t.Logf("%s: %s took %s", service, name, took)
	}
	eventually(t, func() error {
		_, err := spans.longest("kubelet", "syncPod")
		return err
	})
}

// TestTracingOfNode: in each state of its configuration containerd records what
// it should, and the kubelet nothing unless it may begin traces itself.
func TestTracingOfNode(t *testing.T) {
	spans, endpoint := receive(t)
	c := startReal(t, Options{})
	ask := asker(t, c)
	// The calls of the test, and those of the kubelet.
	asked := func(s *trace.Span) bool {
		return strings.HasSuffix(s.GetName(), "/ListMetricDescriptors") && len(s.GetParentSpanId()) == 0
	}
	polls := func(s *trace.Span) bool { return strings.HasSuffix(s.GetName(), "/ListPodSandbox") }
	answered := 0
	// follow makes a call that containerd records, and waits for its span:
	// spans come in the order of their ends, so all others are there.
	follow := func(state string) {
		t.Helper()
		ask(1, recorded)
		answered++
		eventually(t, func() error {
			if n := len(spans.all("containerd", ofCaller(recorded))); n != answered {
				return fmt.Errorf("%s: %d spans of the calls whose caller records, want %d", state, n, answered)
			}
			return nil
		})
	}
	for _, s := range tracingStates(endpoint) {
		before := len(spans.all("containerd", asked))
		s.apply(t, c, Containerd, Kubelet)
		ask(s.of, "")
		ask(1, notRecorded)
		if s.tracing == nil {
			continue
		}
		follow(s.name)
		s.check(t, "calls without a context", len(spans.all("containerd", asked))-before)
		if n := len(spans.all("containerd", ofCaller(notRecorded))); n != 0 {
			t.Errorf("%s: %d spans of a call whose caller does not record", s.name, n)
		}
		if n := len(spans.all("kubelet", polls)); n != 0 && s.name == "zero" {
			t.Errorf("%s: %d spans of the kubelet, which has no caller that it follows", s.name, n)
		}
	}
	eventually(t, func() error {
		if len(spans.all("kubelet", polls)) == 0 {
			return errors.New("no span of the kubelet")
		}
		return nil
	})

	// containerd follows the kubelet's decision, also where that records nothing.
	all, none := Tracing{Endpoint: endpoint, SamplingRatePerMillion: EveryTrace}, Tracing{Endpoint: endpoint}
	for _, tt := range []struct {
		name    string
		tracing map[Component]Tracing
		begins  bool
	}{
		{"kubelet records nothing", map[Component]Tracing{Containerd: all, Kubelet: none}, false},
		{"kubelet has no configuration", map[Component]Tracing{Containerd: all}, true},
	} {
		if err := c.Reconfigure(t.Context(), func(o *Options) { o.Tracing = tt.tracing }); err != nil {
			t.Fatal(err)
		}
		follow(tt.name) // and what the kubelet asked while it was restarted
		before := len(spans.all("containerd", polls))
		follow(tt.name)
		if !tt.begins {
			if n := len(spans.all("containerd", polls)) - before; n != 0 {
				t.Errorf("%s: containerd recorded %d of its calls", tt.name, n)
			}
			continue
		}
		eventually(t, func() error {
			if len(spans.all("containerd", polls)) == before {
				return errors.New(tt.name + ": containerd recorded none of its calls")
			}
			return nil
		})
	}
}

// asker returns what calls containerd n times, with a context or without. The
// kubelet does not make that call by itself.
func asker(t *testing.T, c *Cluster) func(n int, traceparent string) {
	t.Helper()
	conn, err := grpc.NewClient(
		"unix://"+c.nodes.(*realNodes).node.Socket(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := cri.NewRuntimeServiceClient(conn)
	return func(n int, traceparent string) {
		t.Helper()
		ctx := t.Context()
		if traceparent != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent)
		}
		for range n {
			if _, err := client.ListMetricDescriptors(
				ctx,
				&cri.ListMetricDescriptorsRequest{},
				grpc.WaitForReady(true),
			); err != nil {
				t.Fatal(err)
			}
		}
	}
}
