// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(asReceiver); path != "" {
		fmt.Println(receiveOn(path))
		os.Exit(1)
	}
	storing()
	goleak.VerifyTestMain(m)
}
