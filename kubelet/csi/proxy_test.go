// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/kubelet/csi"
)

const (
	uid    = "0b8bb6b8-4a4c-4bb9-9d39-9e26a7c1a1f2"
	target = "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1/mount"
	secret = "hunter2-of-the-volume"
)

// driver is a CSI driver that counts its calls.
type driver struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedNodeServer

	mu    sync.Mutex
	calls []string
	// parents are the values of traceparent.
	parents []string
	// fail is the error of the next calls; nil for none.
	fail error
	// asked counts the questions for the name. answer holds them back until it is closed; nil for at once.
	asked  int
	answer chan struct{}
}

func (d *driver) note(ctx context.Context, call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	incoming, _ := metadata.FromIncomingContext(ctx)
	d.parents = append(d.parents, strings.Join(incoming.Get("traceparent"), ","))
	return cmp.Or(echo(ctx, func(sent metadata.MD) error { return grpc.SetHeader(ctx, sent) }), d.fail)
}

// echo sets a header and a trailer with what the driver has of a call.
func echo(ctx context.Context, set func(metadata.MD) error) error {
	incoming, _ := metadata.FromIncomingContext(ctx)
	out := metadata.MD{"had": incoming.Get("key"), "had-bin": incoming.Get("key-bin")}
	if deadline, has := ctx.Deadline(); has {
		out.Set("deadline", deadline.Format(time.RFC3339Nano))
	}
	return cmp.Or(set(out), grpc.SetTrailer(ctx, metadata.Pairs("last", "trailer")))
}

func (d *driver) GetPluginInfo(ctx context.Context, _ *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	d.mu.Lock()
	d.asked++
	answer := d.answer
	d.mu.Unlock()
	if answer != nil {
		select {
		case <-answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &spec.GetPluginInfoResponse{Name: "disk.example.com", VendorVersion: "1"}, nil
}

func (d *driver) NodeStageVolume(
	ctx context.Context, r *spec.NodeStageVolumeRequest,
) (*spec.NodeStageVolumeResponse, error) {
	return &spec.NodeStageVolumeResponse{}, d.note(ctx, "stage "+r.GetVolumeId()+r.GetSecrets()["password"])
}

func (d *driver) NodePublishVolume(
	ctx context.Context, r *spec.NodePublishVolumeRequest,
) (*spec.NodePublishVolumeResponse, error) {
	return &spec.NodePublishVolumeResponse{}, d.note(ctx, "publish "+r.GetVolumeId())
}

func (d *driver) NodeUnpublishVolume(
	ctx context.Context, r *spec.NodeUnpublishVolumeRequest,
) (*spec.NodeUnpublishVolumeResponse, error) {
	return &spec.NodeUnpublishVolumeResponse{}, d.note(ctx, "unpublish "+r.GetVolumeId())
}

func (d *driver) NodeUnstageVolume(
	ctx context.Context, r *spec.NodeUnstageVolumeRequest,
) (*spec.NodeUnstageVolumeResponse, error) {
	return &spec.NodeUnstageVolumeResponse{}, d.note(ctx, "unstage "+r.GetVolumeId())
}

func (d *driver) NodeGetVolumeStats(
	ctx context.Context, r *spec.NodeGetVolumeStatsRequest,
) (*spec.NodeGetVolumeStatsResponse, error) {
	return &spec.NodeGetVolumeStatsResponse{Usage: []*spec.VolumeUsage{{Available: 7}}},
		d.note(ctx, "stats "+r.GetVolumeId())
}

// set is a kubelet's client of a proxy of a driver.
type set struct {
	*driver
	// connection is one to the proxy.
	connection *grpc.ClientConn
	node       spec.NodeClient
	// direct is a client of the driver itself.
	direct spec.NodeClient
	spans  *tracetest.InMemoryExporter
	proxy  *csi.Proxy
}

// start starts the driver and the proxy, which knows the driver's name.
func start(t testing.TB) *set {
	t.Helper()
	s := startWith(t, &driver{}, 0)
	s.proxy.WaitForName()
	return s
}

// startWith starts a driver that needs some time to write to a new connection, and the proxy.
func startWith(t testing.TB, d *driver, delay time.Duration) *set {
	t.Helper()
	dir := t.TempDir()
	listen, at := filepath.Join(dir, "proxy.sock"), filepath.Join(dir, "csi.sock")
	s := &set{driver: d, spans: tracetest.NewInMemoryExporter()}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spec.RegisterIdentityServer(server, s.driver)
	spec.RegisterNodeServer(server, s.driver)
	server.RegisterService(&talks, nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(slow{l, delay}) }()
	t.Cleanup(func() { server.Stop(); <-served })
	if s.proxy, err = csi.New(at, sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	proxied := make(chan error, 1)
	go func() { proxied <- s.proxy.Serve(ctx, listen) }()
	t.Cleanup(func() {
		stop()
		if err := <-proxied; err != nil {
			t.Error(err)
		}
		_ = s.proxy.Close()
	})
	s.connection = connect(t, listen)
	s.node, s.direct = spec.NewNodeClient(s.connection), spec.NewNodeClient(connect(t, at))
	return s
}

// connect returns a connection to a socket. Its calls wait for the socket.
func connect(t testing.TB, socket string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond}, MinConnectTimeout: 20 * time.Second,
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// described returns the spans, each as "method pod status".
func (s *set) described() []string {
	var out []string
	for _, span := range s.spans.GetSpans() {
		values := map[string]string{}
		for _, kv := range span.Attributes {
			values[string(kv.Key)] = kv.Value.String()
		}
		out = append(out, fmt.Sprintf("%s %s %s %s %s", strings.TrimPrefix(span.Name, "csi.v1.Node/"),
			values["container.csi.volume.id"], values["container.csi.plugin.name"], values["k8s.pod.uid"],
			values["rpc.response.status_code"]))
	}
	return out
}

func (s *set) stage(t *testing.T) error {
	t.Helper()
	_, err := s.node.NodeStageVolume(t.Context(), &spec.NodeStageVolumeRequest{
		VolumeId: "vol-1", StagingTargetPath: "/staging", Secrets: map[string]string{"password": secret},
	})
	return err
}

func (s *set) publish(t *testing.T) error {
	t.Helper()
	_, err := s.node.NodePublishVolume(t.Context(), &spec.NodePublishVolumeRequest{
		VolumeId: "vol-1", StagingTargetPath: "/staging", TargetPath: target,
		Secrets: map[string]string{"password": secret},
		VolumeContext: map[string]string{
			"csi.storage.k8s.io/pod.name": "web-0", "csi.storage.k8s.io/pod.namespace": "shop", "key": secret,
		},
	})
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLife mounts and unmounts a volume. The Pod of a staging is that of the publication after it.
func TestLife(t *testing.T) {
	s := start(t)
	must(t, s.stage(t))
	if got := s.described(); len(got) > 0 {
		t.Errorf("before the Pod was known: %v", got)
	}
	must(t, s.publish(t))
	_, err := s.node.NodeUnpublishVolume(t.Context(),
		&spec.NodeUnpublishVolumeRequest{VolumeId: "vol-1", TargetPath: target})
	must(t, err)
	_, err = s.node.NodeUnstageVolume(t.Context(),
		&spec.NodeUnstageVolumeRequest{VolumeId: "vol-1", StagingTargetPath: "/staging"})
	must(t, err)
	want := []string{}
	for _, method := range []string{
		"NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume",
	} {
		want = append(want, method+" vol-1 disk.example.com "+uid+" OK")
	}
	if got := s.described(); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	calls := []string{"stage vol-1" + secret, "publish vol-1", "unpublish vol-1", "unstage vol-1"}
	if !slices.Equal(s.calls, calls) {
		t.Errorf("the driver had %v, want %v", s.calls, calls)
	}
	for i, span := range s.spans.GetSpans() {
		if !strings.Contains(s.parents[i], span.SpanContext.SpanID().String()) {
			t.Errorf("the driver had the context %q in %s", s.parents[i], span.Name)
		}
		if strings.Contains(fmt.Sprint(span), secret) {
			t.Errorf("a secret in %v", span)
		}
		if i > 0 && span.StartTime.Before(s.spans.GetSpans()[i-1].EndTime) {
			t.Errorf("%s begins before the end of the call before it", span.Name)
		}
	}
}

// TestErrors: the caller gets the driver's error. A failed staging has the Pod of a later publication.
func TestErrors(t *testing.T) {
	s := start(t)
	s.fail = status.Error(codes.FailedPrecondition, "token="+secret)
	err := s.stage(t)
	if status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != "token="+secret {
		t.Errorf("the caller had %v", err)
	}
	s.fail = nil
	must(t, s.stage(t))
	must(t, s.publish(t))
	want := []string{
		"NodeStageVolume vol-1 disk.example.com " + uid + " FAILED_PRECONDITION",
		"NodeStageVolume vol-1 disk.example.com " + uid + " OK",
		"NodePublishVolume vol-1 disk.example.com " + uid + " OK",
	}
	if got := s.described(); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := fmt.Sprint(s.spans.GetSpans()); strings.Contains(text, secret) {
		t.Errorf("a secret in %s", text)
	}
}

// TestNoSpans: polls and repeated publications have no spans, and their answers pass unchanged.
func TestNoSpans(t *testing.T) {
	s := start(t)
	got, err := s.node.NodeGetVolumeStats(t.Context(), &spec.NodeGetVolumeStatsRequest{VolumeId: "vol-1"})
	must(t, err)
	if n := got.GetUsage()[0].GetAvailable(); n != 7 {
		t.Errorf("the answer has %d, want 7", n)
	}
	if _, err := s.node.NodeExpandVolume(t.Context(), &spec.NodeExpandVolumeRequest{VolumeId: "vol-1"}); status.Code(
		err) != codes.Unimplemented {
		t.Errorf("a call that the driver lacks: %v", err)
	}
	s.spans.Reset()
	must(t, s.publish(t))
	must(t, s.publish(t))
	if got := s.described(); len(got) != 1 {
		t.Errorf("two publications at one path: %v", got)
	}
	s.fail = status.Error(codes.Internal, "gone")
	if s.publish(t) == nil {
		t.Error("no error")
	}
	if got := s.described(); len(got) != 2 {
		t.Errorf("a failed repetition: %v", got)
	}
}

// TestWaiting: Close ends the spans without a Pod.
func TestWaiting(t *testing.T) {
	s := start(t)
	must(t, s.stage(t))
	must(t, s.proxy.Close())
	got := s.spans.GetSpans()
	if len(got) != 1 || got[0].EndTime.After(time.Now()) {
		t.Errorf("spans %v", s.described())
	}
}

// TestUnstaged: an unstaging ends the wait of the stagings before it. A later Pod does not get them.
func TestUnstaged(t *testing.T) {
	s := start(t)
	s.fail = status.Error(codes.Unavailable, "no disk")
	if s.stage(t) == nil {
		t.Error("no error")
	}
	s.fail = nil
	_, err := s.node.NodeUnstageVolume(t.Context(),
		&spec.NodeUnstageVolumeRequest{VolumeId: "vol-1", StagingTargetPath: "/staging"})
	must(t, err)
	must(t, s.publish(t))
	want := []string{
		"NodeStageVolume vol-1 disk.example.com  UNAVAILABLE", "NodeUnstageVolume vol-1 disk.example.com  OK",
		"NodePublishVolume vol-1 disk.example.com " + uid + " OK",
	}
	if got := s.described(); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSlowName: no call waits until the driver has answered with its name.
func TestSlowName(t *testing.T) {
	d := &driver{answer: make(chan struct{})}
	s := startWith(t, d, 0)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := s.node.NodeUnpublishVolume(ctx,
			&spec.NodeUnpublishVolumeRequest{VolumeId: "vol-1", TargetPath: target})
		cancel()
		must(t, err)
	}
	d.mu.Lock()
	if d.asked > 1 {
		t.Errorf("%d questions at once", d.asked)
	}
	d.mu.Unlock()
	close(d.answer)
	s.proxy.WaitForName()
	must(t, s.publish(t))
	want := slices.Repeat([]string{"NodeUnpublishVolume vol-1  " + uid + " OK"}, 3)
	want = append(want, "NodePublishVolume vol-1 disk.example.com "+uid+" OK")
	if got := s.described(); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// BenchmarkCall measures a call with a span through the proxy, and one to the driver itself.
func BenchmarkCall(b *testing.B) {
	for _, through := range []string{"driver", "proxy"} {
		b.Run(through, func(b *testing.B) {
			s := start(b)
			node := s.node
			if through == "driver" {
				node = s.direct
			}
			request := &spec.NodeUnpublishVolumeRequest{VolumeId: "vol-1", TargetPath: target}
			for b.Loop() {
				if _, err := node.NodeUnpublishVolume(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
