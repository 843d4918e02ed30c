// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// checkpointName is the kubelet's file of devices and Pods, beside its socket.
const checkpointName = "kubelet_internal_checkpoint"

// maxCheckpoint bounds the file in bytes. An entry has some 300 bytes, and more with a large response of a plugin.
const maxCheckpoint = 16 << 20

// user is the Pod and the container that have a device. Either is empty if unknown.
type user struct{ pod, container string }

// checkpoint is the part of the kubelet's file that is decoded. The form is that of Kubernetes 1.20 and later
// (pkg/kubelet/cm/devicemanager/checkpoint). An entry there also has the plugin's response, which may hold
// environment variables.
type checkpoint struct {
	Data struct {
		PodDeviceEntries []struct {
			PodUID        string
			ContainerName string
			ResourceName  string
			// DeviceIDs are by the number of their NUMA node.
			DeviceIDs map[string][]string
		}
	}
}

// readCheckpoint reads the file at path, and returns the time of its last change.
func readCheckpoint(path string) (*checkpoint, time.Time, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCheckpoint+1))
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case len(data) > maxCheckpoint:
		return nil, time.Time{}, fmt.Errorf("%s has more than %d bytes", path, maxCheckpoint)
	}
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return &c, info.ModTime(), nil
}

// user returns the user of a device of a resource. It has no container if two of the Pod have the device: the kubelet
// gives the devices of an init container to an app container, and keeps both entries. It is empty if two Pods have
// the device.
func (c *checkpoint) user(resource, device string) user {
	var found user
	for _, e := range c.Data.PodDeviceEntries {
		if e.ResourceName != resource || e.PodUID == "" {
			continue
		}
		for _, ids := range e.DeviceIDs {
			if !slices.Contains(ids, device) {
				continue
			}
			by := user{pod: tracing.Text(e.PodUID), container: tracing.Text(e.ContainerName)}
			switch {
			case found.pod == "":
				found = by
			case found.pod != by.pod:
				return user{}
			case found.container != by.container:
				found.container = ""
			}
		}
	}
	return found
}
