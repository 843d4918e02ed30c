// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// recordFile lists, in the group's directory, the processes it started.
const recordFile = "processes.json"

// An Entry is one recorded process.
type Entry struct {
	Name string `json:"name"`
	Pid  int    `json:"pid"`
	// Start is the process' start time in clock ticks since boot: with the
	// pid it identifies a process for as long as the machine runs.
	Start string `json:"start"`
	// Boot identifies that run of the machine.
	Boot string `json:"boot"`
	Path string `json:"path"`
	Log  string `json:"log"`
}

// Self describes the calling process.
func Self() Entry {
	return Entry{Name: filepath.Base(os.Args[0]), Pid: os.Getpid(), Start: startTime(os.Getpid()), Boot: bootID()}
}

func entryOf(p *Process) Entry {
	return Entry{
		Name: p.spec.Name, Pid: p.Pid(), Start: startTime(p.Pid()), Boot: bootID(),
		Path: p.spec.Path, Log: p.spec.LogFile,
	}
}

// Alive reports whether the recorded process itself, not another one under
// the same pid, is running.
func (e Entry) Alive() bool {
	return e.Start != "" && e.Boot == bootID() && startTime(e.Pid) == e.Start
}

// Recorded returns the processes recorded in dir, the first started first;
// none if nothing was ever recorded there.
func Recorded(dir string) ([]Entry, error) {
	return (&record{path: filepath.Join(dir, recordFile)}).read()
}

type record struct {
	path string
	mu   sync.Mutex
}

func (r *record) read() ([]Entry, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the process record: %w", err)
	}
	var entries []Entry
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("cannot read the process record %s: %w", r.path, err)
	}
	return entries, nil
}

// add records e in place of an entry of the same name.
func (r *record) add(e Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.read()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(old Entry) bool { return old.Name == e.Name })
	data, err := json.MarshalIndent(append(entries, e), "", "  ")
	if err != nil {
		return fmt.Errorf("cannot record %s: %w", e.Name, err)
	}
	// Written aside and renamed: a crash leaves the old record or the new one.
	tmp := r.path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("cannot record %s: %w", e.Name, err)
	}
	if err := os.Rename(tmp, r.path); err != nil {
		return fmt.Errorf("cannot record %s: %w", e.Name, err)
	}
	return nil
}

// startTime returns field 22 of /proc/<pid>/stat; empty if the process has
// ended, a zombie included.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name (field 2) is in parentheses and may hold anything.
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest) // from field 3, the state
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}
