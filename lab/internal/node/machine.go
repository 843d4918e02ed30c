// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kubeletSysctls are those that a kubelet sets for the whole machine.
var kubeletSysctls = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// A machineLock excludes other nodes from what all on this machine share: the
// choice of a network, and the kubelets' traces outside their directories.
type machineLock struct {
	file *os.File
}

func lockMachine() (*machineLock, error) {
	if err := os.MkdirAll(sharedDir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the nodes' shared directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(sharedDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the nodes' lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", f.Name(), err), f.Close())
	}
	return &machineLock{file: f}, nil
}

func (m *machineLock) unlock() { _ = m.file.Close() }

func sysctlFile() string { return filepath.Join(sharedDir, "sysctls.json") }

// rememberSysctls keeps the machine's settings from before the first kubelet.
func (m *machineLock) rememberSysctls() error {
	if _, err := os.Stat(sysctlFile()); err == nil {
		return nil
	}
	values := map[string]string{}
	for _, name := range kubeletSysctls {
		if value, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
			values[name] = strings.TrimSpace(string(value))
		}
	}
	return writeJSON(sysctlFile(), values)
}

// leave undoes the kubelets' changes of the machine after the last node's end.
func (m *machineLock) leave() error {
	entries, err := os.ReadDir(sharedDir)
	if err != nil {
		return fmt.Errorf("cannot look for other nodes: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			return nil
		}
	}
	for _, path := range []string{
		"/var/lib/kubelet/device-plugins/kubelet.sock",
		"/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
	} {
		_ = os.Remove(path)
	}
	// Empty directories are removed.
	for _, dir := range []string{
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
		"/var/lib/cni/results", "/var/lib/cni", "/var/log/containers",
	} {
		_ = os.Remove(dir)
	}
	return restoreSysctls()
}

func restoreSysctls() error {
	data, err := os.ReadFile(sysctlFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the kernel settings to restore: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return fmt.Errorf("cannot read the kernel settings to restore from %s: %w", sysctlFile(), err)
	}
	var errs []error
	for name, value := range values {
		path := filepath.Join("/proc/sys", name)
		if now, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(value), 0o644))
	}
	return errors.Join(append(errs, os.Remove(sysctlFile()))...)
}
