// SPDX-License-Identifier: Apache-2.0

// Package deviceplugin is a small device plugin of a kubelet: two devices that are no more than a variable in
// the container.
package deviceplugin

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Plugin has two devices of a resource.
type Plugin struct {
	api.UnimplementedDevicePluginServer
	// Resource is the name of the extended resource.
	Resource string
}

// Start serves the plugin in a directory until the test ends, and registers it there.
func (p *Plugin) Start(t *testing.T, dir string) {
	t.Helper()
	const endpoint = "lifeline-test.sock"
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "unix", filepath.Join(dir, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	kubelet, err := grpc.NewClient("unix:"+filepath.Join(dir, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kubelet.Close() }()
	if _, err := api.NewRegistrationClient(kubelet).Register(t.Context(), &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: p.Resource,
		Options: &api.DevicePluginOptions{PreStartRequired: true},
	}); err != nil {
		t.Fatalf("cannot register the device plugin: %v", err)
	}
}

// GetDevicePluginOptions asks for PreStartContainer.
func (*Plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{PreStartRequired: true}, nil
}

// ListAndWatch sends the two devices once.
func (*Plugin) ListAndWatch(_ *api.Empty, to grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	if err := to.Send(&api.ListAndWatchResponse{Devices: []*api.Device{
		{ID: "device-0", Health: api.Healthy}, {ID: "device-1", Health: api.Healthy},
	}}); err != nil {
		return err
	}
	<-to.Context().Done()
	return nil
}

// Allocate names the devices in a variable.
func (*Plugin) Allocate(_ context.Context, in *api.AllocateRequest) (*api.AllocateResponse, error) {
	out := &api.AllocateResponse{}
	for _, c := range in.GetContainerRequests() {
		out.ContainerResponses = append(out.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"DEVICES": strings.Join(c.GetDevicesIds(), ",")},
		})
	}
	return out, nil
}

// PreStartContainer prepares nothing.
func (*Plugin) PreStartContainer(
	context.Context, *api.PreStartContainerRequest,
) (*api.PreStartContainerResponse, error) {
	return &api.PreStartContainerResponse{}, nil
}
