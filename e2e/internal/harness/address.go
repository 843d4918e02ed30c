// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"testing"
)

// FreeAddress returns an address of loopback, as host:port, on which nothing
// listens now: for what cannot be told to find a free port by itself.
func FreeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free address: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// Free is FreeAddress for a test.
func Free(t testing.TB) string {
	t.Helper()
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
