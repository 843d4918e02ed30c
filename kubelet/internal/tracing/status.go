// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// codeName returns the name of a code as gRPC's specification has it, such as DEADLINE_EXCEEDED.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED" // Go's name has one L
	}
	var out strings.Builder
	name := c.String()
	for i, letter := range name {
		if i > 0 && letter >= 'A' && letter <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z' {
			out.WriteByte('_')
		}
		out.WriteRune(letter)
	}
	return strings.ToUpper(out.String())
}
