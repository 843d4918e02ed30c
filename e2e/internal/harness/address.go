// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"strconv"
	"testing"

	"github.com/kube-lifeline/lifeline/lab/ports"
)

// FreeAddress returns an address of loopback, as host:port, on which nothing
// listens now: for what cannot be told to find a free port by itself. Each call
// returns another.
func FreeAddress() (string, error) {
	free, err := ports.Free(1)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(free[0])), nil
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
