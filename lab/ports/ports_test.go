// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"fmt"
	"net"
	"testing"
)

// TestFree: the ports differ, a program can listen on all of them at once, and
// none is an ephemeral port.
func TestFree(t *testing.T) {
	got, err := Free(20)
	if err != nil || len(got) != 20 {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, port := range got {
		if port < first || port >= last {
			t.Errorf("port %d is not from %d to %d", port, first, last)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Error(err)
			continue
		}
		defer l.Close()
	}
}

// TestClaimed: a port that another process has claimed is skipped.
func TestClaimed(t *testing.T) {
	got, err := Free(1)
	if err != nil {
		t.Fatal(err)
	}
	picked.Store(int64(got[0]-first) - 1) // as in a process that reaches the same port
	again, err := Free(1)
	if err != nil || again[0] == got[0] {
		t.Errorf("got %v after %v, %v", again, got, err)
	}
}

// TestTooMany: more ports than there are give an error.
func TestTooMany(t *testing.T) {
	if got, err := Free(last - first + 1); err == nil {
		t.Errorf("got %d ports", len(got))
	}
}
