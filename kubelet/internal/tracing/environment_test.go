// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// away is a receiver that is away.
type away struct{}

func (away) Shutdown(context.Context) error { return errors.New("the receiver is away") }

// TestShutDown: an unsent span is reported, and no error of the process.
func TestShutDown(t *testing.T) {
	var log strings.Builder
	shutDown(away{}, &log)
	if !strings.Contains(log.String(), "the receiver is away") {
		t.Errorf("the log is %q", log.String())
	}
}
