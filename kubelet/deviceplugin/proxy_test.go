// SPDX-License-Identifier: Apache-2.0

package deviceplugin_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kube-lifeline/lifeline/kubelet/deviceplugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	uid      = "0b8bb6b8-4a4c-4bb9-9d39-9e26a7c1a1f2"
	resource = "example.com/gpu"
	secret   = "hunter2-of-the-plugin"
)

// kubelet takes registrations in a directory, and writes checkpoints there.
type kubelet struct {
	plugin.UnimplementedRegistrationServer
	dir        string
	registered chan *plugin.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	k.registered <- r
	return &plugin.Empty{}, nil
}

// serve listens on a socket until the test ends or the returned function is called.
func serve(t *testing.T, socket string, register func(*grpc.Server)) func() {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	must(t, err)
	server := grpc.NewServer()
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	stop := sync.OnceFunc(func() { server.Stop(); <-served })
	t.Cleanup(stop)
	return stop
}

func (k *kubelet) start(t *testing.T) func() {
	return serve(t, filepath.Join(k.dir, "kubelet.sock"), func(s *grpc.Server) {
		plugin.RegisterRegistrationServer(s, k)
	})
}

// entry is an entry of the kubelet's checkpoint.
type entry struct {
	PodUID, ContainerName, ResourceName string
	DeviceIDs                           map[int64][]string
	AllocResp                           []byte
}

func (k *kubelet) checkpoint(t *testing.T, entries ...entry) {
	t.Helper()
	var out struct {
		Data     struct{ PodDeviceEntries []entry }
		Checksum uint64
	}
	out.Data.PodDeviceEntries = entries
	data, err := json.Marshal(out)
	must(t, err)
	path := filepath.Join(k.dir, "kubelet_internal_checkpoint")
	must(t, os.WriteFile(path+".new", data, 0o600))
	must(t, os.Rename(path+".new", path))
}

// of returns an entry for devices.
func of(pod, container string, devices ...string) entry {
	return entry{pod, container, resource, map[int64][]string{-1: devices}, []byte(secret)}
}

// devices is a device plugin.
type devices struct {
	plugin.UnimplementedDevicePluginServer
	refuse bool
}

func (*devices) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{PreStartRequired: true}, nil
}

func (*devices) ListAndWatch(_ *plugin.Empty, s grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	for _, health := range []string{plugin.Healthy, plugin.Unhealthy} {
		if err := s.Send(
			&plugin.ListAndWatchResponse{Devices: []*plugin.Device{{ID: "gpu-0", Health: health}}},
		); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return nil
}

func (d *devices) Allocate(_ context.Context, in *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	if d.refuse {
		return nil, status.Error(codes.ResourceExhausted, "the device is lost")
	}
	ids := strings.Join(in.GetContainerRequests()[0].GetDevicesIds(), ",")
	return &plugin.AllocateResponse{ContainerResponses: []*plugin.ContainerAllocateResponse{{
		Envs: map[string]string{"TOKEN": secret, "DEVICES": ids},
	}}}, nil
}

func (*devices) PreStartContainer(
	context.Context, *plugin.PreStartContainerRequest,
) (*plugin.PreStartContainerResponse, error) {
	return &plugin.PreStartContainerResponse{}, nil
}

// set is a kubelet with its proxy and a registered plugin.
type set struct {
	*kubelet
	*devices
	plugins string
	spans   *tracetest.InMemoryExporter
	stop    func()
	client  plugin.DevicePluginClient
}

func start(t *testing.T) *set {
	t.Helper()
	s := &set{
		kubelet: &kubelet{dir: t.TempDir(), registered: make(chan *plugin.RegisterRequest, 8)}, devices: &devices{},
		plugins: t.TempDir(), spans: tracetest.NewInMemoryExporter(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	proxy := &deviceplugin.Proxy{
		Kubelet: s.dir, Plugins: s.plugins, Provider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans)),
		Log: func(err error) { t.Error(err) },
	}
	ended := make(chan error, 1)
	go func() { ended <- proxy.Serve(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	s.kubelet.start(t)
	serve(
		t,
		filepath.Join(s.plugins, "gpu.sock"),
		func(g *grpc.Server) { plugin.RegisterDevicePluginServer(g, s.devices) },
	)
	s.register(t, "gpu.sock", resource)
	s.client = plugin.NewDevicePluginClient(connect(t, filepath.Join(s.dir, "lifeline-gpu.sock")))
	return s
}

func connect(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// register registers the plugin with the proxy, and checks what the kubelet gets.
func (s *set) register(t *testing.T, endpoint, resource string) {
	t.Helper()
	_, err := plugin.NewRegistrationClient(connect(t, filepath.Join(s.plugins, "kubelet.sock"))).Register(t.Context(),
		&plugin.RegisterRequest{
			Version: plugin.Version, Endpoint: endpoint, ResourceName: resource,
			Options: &plugin.DevicePluginOptions{PreStartRequired: true},
		})
	must(t, err)
	r := <-s.registered
	if r.GetEndpoint() != "lifeline-"+endpoint || r.GetResourceName() != resource || r.GetVersion() != plugin.Version ||
		!r.GetOptions().GetPreStartRequired() {
		t.Errorf("the kubelet has the registration %v", r)
	}
}

func (s *set) allocate(t *testing.T, ids ...string) (*plugin.AllocateResponse, error) {
	t.Helper()
	return s.client.Allocate(t.Context(), &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: ids}},
	})
}

// awaited returns the only span with its attributes.
func (s *set) awaited(t *testing.T) (tracetest.SpanStub, map[attribute.Key]attribute.Value) {
	t.Helper()
	for len(s.spans.GetSpans()) == 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("there is no span")
		}
	}
	all := s.spans.GetSpans()
	if len(all) != 1 {
		t.Fatalf("there are %d spans", len(all))
	}
	s.spans.Reset()
	out := map[attribute.Key]attribute.Value{}
	for _, kv := range all[0].Attributes {
		out[kv.Key] = kv.Value
		if strings.Contains(kv.Value.String(), secret) {
			t.Errorf("%s has what the plugin answered", kv.Key)
		}
	}
	return all[0], out
}

// TestAllocate: an allocation passes unchanged. Its span has the Pod of the checkpoint that the kubelet writes
// after it, and not the Pod that had the device before.
func TestAllocate(t *testing.T) {
	s := start(t)
	s.checkpoint(t, of("an-earlier-pod", "old", "gpu-0"))
	old := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(filepath.Join(s.dir, "kubelet_internal_checkpoint"), old, old))
	answer, err := s.allocate(t, "gpu-0", "gpu-1")
	must(t, err)
	if envs := answer.GetContainerResponses()[0].GetEnvs(); envs["TOKEN"] != secret ||
		envs["DEVICES"] != "gpu-0,gpu-1" {
		t.Errorf("the kubelet has the answer %v", envs)
	}
	answered := time.Now()
	s.checkpoint(t, of("another-pod", "other", "gpu-7"), of(uid, "train", "gpu-0", "gpu-1"))
	span, attrs := s.awaited(t)
	if span.Name != "v1beta1.DevicePlugin/Allocate" || attrs["k8s.pod.uid"].AsString() != uid ||
		attrs["k8s.container.name"].AsString() != "train" || attrs["rpc.response.status_code"].AsString() != "OK" ||
		attrs[deviceplugin.KeyResource].AsString() != resource || attrs[deviceplugin.KeyDeviceCount].AsInt64() != 2 ||
		!slices.Equal(attrs[deviceplugin.KeyDevices].AsStringSlice(), []string{"gpu-0", "gpu-1"}) {
		t.Errorf("the span %s has %v", span.Name, attrs)
	}
	if span.EndTime.After(answered) {
		t.Error("the span ends after the answer")
	}
}

// TestRefused: an error passes unchanged, and its span waits for no Pod.
func TestRefused(t *testing.T) {
	s := start(t)
	s.refuse = true
	if _, err := s.allocate(t, "gpu-0"); status.Code(err) != codes.ResourceExhausted ||
		status.Convert(err).Message() != "the device is lost" {
		t.Errorf("the kubelet has %v", err)
	}
	span, attrs := s.awaited(t)
	if span.Status.Code != otelcodes.Error || attrs["rpc.response.status_code"].AsString() != "RESOURCE_EXHAUSTED" ||
		attrs["k8s.pod.uid"].AsString() != "" {
		t.Errorf("the span has %v and %v", span.Status, attrs)
	}
}

// TestPrepare: the checkpoint has the Pod of a container that starts, unless two Pods have the device.
func TestPrepare(t *testing.T) {
	s := start(t)
	for want, entries := range map[string][]entry{
		uid: {
			of("", "nobody", "gpu-0"), of(uid, "train", "gpu-0"),
			{"x", "y", "example.com/other", map[int64][]string{0: {"gpu-0"}}, nil},
		},
		"": {of(uid, "train", "gpu-0"), of("another-pod", "train", "gpu-0")},
	} {
		s.checkpoint(t, entries...)
		_, err := s.client.PreStartContainer(
			t.Context(),
			&plugin.PreStartContainerRequest{DevicesIds: []string{"gpu-0"}},
		)
		must(t, err)
		span, attrs := s.awaited(t)
		if span.Name != "v1beta1.DevicePlugin/PreStartContainer" || attrs["k8s.pod.uid"].AsString() != want {
			t.Errorf("the span %s has %v, want the Pod %q", span.Name, attrs, want)
		}
	}
}

// TestInitContainer: the kubelet gives the devices of an init container to an app container, and its checkpoint keeps
// both. The span has the Pod, and no container.
func TestInitContainer(t *testing.T) {
	s := start(t)
	early, app := of(uid, "init", "gpu-0"), of(uid, "train", "gpu-0")
	for _, entries := range [][]entry{{early, app}, {app, early}, {app, early, app}} {
		s.checkpoint(t, entries...)
		_, err := s.client.PreStartContainer(
			t.Context(),
			&plugin.PreStartContainerRequest{DevicesIds: []string{"gpu-0"}},
		)
		must(t, err)
		_, attrs := s.awaited(t)
		if _, named := attrs["k8s.container.name"]; named || attrs["k8s.pod.uid"].AsString() != uid {
			t.Errorf("with the container %s first, the span has %v", entries[0].ContainerName, attrs)
		}
	}
}

// TestListAndWatch: the stream of devices passes, without a span.
func TestListAndWatch(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.client.ListAndWatch(ctx, &plugin.Empty{})
	must(t, err)
	for _, want := range []string{plugin.Healthy, plugin.Unhealthy} {
		got, err := stream.Recv()
		must(t, err)
		if health := got.GetDevices()[0].GetHealth(); health != want {
			t.Errorf("the device is %s, want %s", health, want)
		}
	}
	options, err := s.client.GetDevicePluginOptions(t.Context(), &plugin.Empty{})
	must(t, err)
	if !options.GetPreStartRequired() || len(s.spans.GetSpans()) > 0 {
		t.Errorf("the options are %v, and there are %d spans", options, len(s.spans.GetSpans()))
	}
}

// TestStopWithoutPod: the end of the proxy ends a span that waits for its Pod.
func TestStopWithoutPod(t *testing.T) {
	s := start(t)
	_, err := s.allocate(t, "gpu-0")
	must(t, err)
	s.stop()
	if _, attrs := s.awaited(t); attrs["k8s.pod.uid"].AsString() != "" {
		t.Errorf("the span has %v", attrs)
	}
}

// TestRegisterAgain: a plugin that starts again registers again, and calls reach it at the same socket.
func TestRegisterAgain(t *testing.T) {
	s := start(t)
	s.register(t, "gpu.sock", resource)
	if _, err := s.allocate(t, "gpu-0"); err != nil {
		t.Errorf("after a second registration: %v", err)
	}
}

// TestOtherEndpoint: a resource has one relay, and an endpoint has one. A registration ends the earlier relay of
// either, and no other relay.
func TestOtherEndpoint(t *testing.T) {
	s := start(t)
	sockets := func() []string {
		all, err := filepath.Glob(filepath.Join(s.dir, "lifeline-*"))
		must(t, err)
		for i := range all {
			all[i] = strings.TrimPrefix(filepath.Base(all[i]), "lifeline-")
		}
		return all
	}
	for _, step := range []struct {
		endpoint, resource string
		want               []string
	}{
		{"nic.sock", "example.com/nic", []string{"gpu.sock", "nic.sock"}},
		{"gpu-2.sock", resource, []string{"gpu-2.sock", "nic.sock"}},
		{"gpu-2.sock", "example.com/nic", []string{"gpu-2.sock"}},
	} {
		s.register(t, step.endpoint, step.resource)
		if got := sockets(); !slices.Equal(got, step.want) {
			t.Errorf("after %s of %s, the sockets are %q, want %q", step.endpoint, step.resource, got, step.want)
		}
	}
}

// TestKubeletStarts: after a new start of the kubelet, the proxy replaces its socket.
func TestKubeletStarts(t *testing.T) {
	k := &kubelet{dir: t.TempDir(), registered: make(chan *plugin.RegisterRequest, 8)}
	plugins := t.TempDir()
	must(t, os.WriteFile(filepath.Join(plugins, "not-a-socket"), nil, 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	proxy := &deviceplugin.Proxy{Kubelet: k.dir, Plugins: plugins, Provider: sdktrace.NewTracerProvider()}
	go func() { ended <- proxy.Serve(ctx) }()
	defer func() { cancel(); must(t, <-ended) }()
	socket := filepath.Join(plugins, "kubelet.sock")
	stop := k.start(t)
	first := appears(t, socket, nil)
	stop()
	k.start(t)
	appears(t, socket, first)
}

// appears waits for a socket that is not the earlier one.
func appears(t *testing.T, socket string, earlier os.FileInfo) os.FileInfo {
	t.Helper()
	for {
		now, err := os.Stat(socket)
		if err == nil && (earlier == nil || !now.ModTime().Equal(earlier.ModTime())) {
			return now
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("the socket is not replaced")
		}
	}
}

// TestEndpoints: a registration reaches no other file than a socket of the plugins' directory.
func TestEndpoints(t *testing.T) {
	s := start(t)
	client := plugin.NewRegistrationClient(connect(t, filepath.Join(s.plugins, "kubelet.sock")))
	for _, endpoint := range []string{"", ".", "..", "../gpu.sock", "/tmp/gpu.sock", "a/b", "kubelet.sock"} {
		_, err := client.Register(t.Context(), &plugin.RegisterRequest{Endpoint: endpoint, ResourceName: resource})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("the endpoint %q: %v", endpoint, err)
		}
	}
}

// TestForeignFile: the proxy replaces no file that is no socket.
func TestForeignFile(t *testing.T) {
	k := &kubelet{dir: t.TempDir(), registered: make(chan *plugin.RegisterRequest, 8)}
	plugins := t.TempDir()
	must(t, os.WriteFile(filepath.Join(plugins, "kubelet.sock"), nil, 0o600))
	k.start(t)
	proxy := &deviceplugin.Proxy{Kubelet: k.dir, Plugins: plugins, Provider: sdktrace.NewTracerProvider()}
	if err := proxy.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("the proxy ends with %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
