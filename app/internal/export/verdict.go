// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// verdict is what an answer of the backend means for a batch.
type verdict struct {
	// again: nothing was taken, and another attempt may help.
	again bool
	// refused is how many spans were refused for good; -1 means all.
	refused int
	reason  error
}

// partial recognises OTLP's partial success, whose type the clients keep to
// themselves.
var partial = regexp.MustCompile(`OTLP partial success: .*\((\d+) spans rejected\)`)

// judge reads the error of an upload as the OTLP specification does: which
// failures are worth another attempt, and which are final.
func judge(err error) verdict {
	if err == nil {
		return verdict{}
	}
	reason := errors.New(printable(err.Error()))
	if m := partial.FindStringSubmatch(reason.Error()); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits, as matched
		return verdict{refused: n, reason: reason}
	}
	if transient(err) {
		return verdict{again: true, reason: reason}
	}
	return verdict{refused: -1, reason: reason}
}

func transient(err error) bool {
	var unreachable *url.Error
	if errors.As(err, &unreachable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if s, ok := status.FromError(err); ok {
		switch s.Code() {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.OutOfRange, codes.DataLoss:
			return true
		case codes.ResourceExhausted:
			return len(s.Details()) > 0 // the backend says when to come again
		}
	}
	// How the HTTP client words 429, 502, 503 and 504.
	return strings.Contains(err.Error(), "retry-able request failure")
}

// printable makes a backend's words fit for one line on a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, span.Bound(s))
	return strings.Join(strings.Fields(s), " ")
}
