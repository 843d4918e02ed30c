// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/lab"
)

// ProcessorTime returns the processor time of a process so far, in steps of 10 ms: Linux counts hundredths of a
// second on all machines.
func ProcessorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the processor time of process %d: %w", pid, err)
	}
	// The program's name, in parentheses, can have spaces.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, fmt.Errorf("cannot read the processor time of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// PID returns the process of a component.
func (b *Bench) PID(t testing.TB, c lab.Component) int {
	t.Helper()
	info, err := lab.Inspect(b.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range info.Processes {
		if p.Name == string(c) && p.Running {
			return p.Pid
		}
	}
	t.Fatalf("no %s runs", c)
	return 0
}
