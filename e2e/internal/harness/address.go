// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// The ports that FreeAddress picks from: below those that a system gives to
// whoever asks for any (from 32768 on Linux), so that no other program gets the
// port by chance before the one that it was picked for. The lab picks those of its
// clusters from 20000 on.
const firstPort, lastPort = 12000, 20000

// ports counts what was picked; each process begins elsewhere, since the tests of
// several packages run at once.
var ports atomic.Int64

func init() { ports.Store(int64(os.Getpid()) * 100) }

// FreeAddress returns an address of loopback, as host:port, on which nothing
// listens now: for what cannot be told to find a free port by itself. Each call
// returns another.
func FreeAddress() (string, error) {
	for range lastPort - firstPort {
		address := net.JoinHostPort("127.0.0.1", strconv.FormatInt(firstPort+ports.Add(1)%(lastPort-firstPort), 10))
		if ln, err := net.Listen("tcp", address); err == nil {
			return address, ln.Close()
		}
	}
	return "", fmt.Errorf("cannot find a free address: each port from %d to %d is taken", firstPort, lastPort)
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
