// SPDX-License-Identifier: Apache-2.0

// Package csidriver is a small driver of the Container Storage Interface for tests on a real node. Its
// volumes are file systems in memory, which it mounts for Pods. It runs in the test's process, which
// needs root.
package csidriver

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Driver is a driver on one node.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer

	// Name is that of the CSIDriver, Node that of the Node.
	Name, Node string

	mu     sync.Mutex
	refuse int
	mounts []string
}

// Start serves the driver on a Unix socket until the test ends. Then it unmounts its volumes.
func (d *Driver) Start(t testing.TB, socket string) {
	t.Helper()
	serve(t, socket, func(s *grpc.Server) {
		csi.RegisterIdentityServer(s, d)
		csi.RegisterNodeServer(s, d)
	})
	t.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, path := range d.mounts {
			_ = syscall.Unmount(path, syscall.MNT_DETACH)
		}
	})
}

// Register registers the driver with the kubelet of that directory until the test ends. The kubelet
// calls the driver at a socket.
func (d *Driver) Register(t testing.TB, kubelet, socket string) {
	t.Helper()
	registered := &registrar{info: &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: d.Name, Endpoint: socket, SupportedVersions: []string{"1.13.0"},
	}, done: make(chan *registration.RegistrationStatus, 1)}
	serve(t, filepath.Join(kubelet, "plugins_registry", d.Name+"-reg.sock"), func(s *grpc.Server) {
		registration.RegisterRegistrationServer(s, registered)
	})
	select {
	case result := <-registered.done:
		if !result.GetPluginRegistered() {
			t.Fatalf("the kubelet does not register the driver: %s", result.GetError())
		}
	case <-t.Context().Done():
		t.Fatal("the kubelet has not registered the driver")
	}
}

// Refuse makes the driver refuse the next n calls to stage a volume.
func (d *Driver) Refuse(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = n
}

func serve(t testing.TB, socket string, register func(*grpc.Server)) {
	t.Helper()
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("the CSI driver: %v", err)
		}
	})
}

// registrar answers the kubelet that watches for plugins.
type registrar struct {
	registration.UnimplementedRegistrationServer

	info *registration.PluginInfo
	done chan *registration.RegistrationStatus
}

// GetInfo returns the driver's socket.
func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return r.info, nil
}

// NotifyRegistrationStatus receives the result.
func (r *registrar) NotifyRegistrationStatus(
	_ context.Context, s *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	select {
	case r.done <- s:
	default:
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// GetPluginInfo returns the driver's name.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.Name, VendorVersion: "1"}, nil
}

// NodeGetInfo returns the node's name.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.Node}, nil
}

// NodeGetCapabilities requests calls that stage volumes.
func (d *Driver) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{{
		Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{
			Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		}},
	}}}, nil
}

// NodeStageVolume mounts a new file system.
func (d *Driver) NodeStageVolume(
	_ context.Context, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse > 0 {
		d.refuse--
		return nil, status.Error(codes.Unavailable, "the disk is not there yet")
	}
	return &csi.NodeStageVolumeResponse{}, d.mount("tmpfs", r.GetStagingTargetPath(), "tmpfs", 0)
}

// NodePublishVolume mounts the file system for a Pod.
func (d *Driver) NodePublishVolume(
	_ context.Context, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(r.GetTargetPath(), 0o700); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodePublishVolumeResponse{}, d.mount(r.GetStagingTargetPath(), r.GetTargetPath(), "", syscall.MS_BIND)
}

func (d *Driver) mount(from, to, kind string, flags uintptr) error {
	if err := syscall.Mount(from, to, kind, flags, ""); err != nil {
		return status.Errorf(codes.Internal, "cannot mount %s: %v", to, err)
	}
	d.mounts = append([]string{to}, d.mounts...)
	return nil
}

// NodeUnpublishVolume unmounts the file system of a Pod.
func (d *Driver) NodeUnpublishVolume(
	_ context.Context, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	if err := unmount(r.GetTargetPath()); err != nil {
		return nil, err
	}
	if err := os.Remove(r.GetTargetPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// NodeUnstageVolume ends the file system.
func (d *Driver) NodeUnstageVolume(
	_ context.Context, r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, unmount(r.GetStagingTargetPath())
}

// unmount has no error for a path without a mount: a kubelet may repeat its calls.
func unmount(path string) error {
	err := syscall.Unmount(path, 0)
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
		return status.Errorf(codes.Internal, "cannot unmount %s: %v", path, err)
	}
	return nil
}
