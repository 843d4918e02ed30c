// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"

	"go.uber.org/goleak"
)

// client-go leaves a goroutine behind when the stream for data is refused after that for errors: it hands over the text
// of the latter, and nobody takes it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("k8s.io/client-go/tools/portforward.(*PortForwarder).handleConnection.func1"))
}
