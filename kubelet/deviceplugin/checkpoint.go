// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// checkpointName is the kubelet's file of devices and Pods, beside its socket.
const checkpointName = "kubelet_internal_checkpoint"

// maxCheckpoint bounds the file in bytes. An entry has some 300 bytes, and more with a large response of a plugin.
const maxCheckpoint = 16 << 20

// user is the container that has devices.
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

// user returns the container that has a device of a resource. It returns none if two Pods have it.
func (c *checkpoint) user(resource, device string) (user, bool) {
	var found user
	for _, e := range c.Data.PodDeviceEntries {
		if e.ResourceName != resource || e.PodUID == "" {
			continue
		}
		for _, ids := range e.DeviceIDs {
			if !slices.Contains(ids, device) {
				continue
			}
			if found.pod != "" && found.pod != e.PodUID {
				return user{}, false
			}
			found = user{pod: text(e.PodUID), container: text(e.ContainerName)}
		}
	}
	return found, found.pod != ""
}
