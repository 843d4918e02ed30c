// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// TestCodeName: the names are those of google/rpc/code.proto.
func TestCodeName(t *testing.T) {
	for code, want := range []string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
		"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	} {
		if got := codeName(codes.Code(code)); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
}
