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

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
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
