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

// verdict is the meaning of the backend's answer for a batch.
type verdict struct {
	// again: no span was accepted, and a retry may help.
	again bool
	// refused is the number of permanently refused spans; -1 means all.
	refused int
	reason  error
}

// partial matches OTLP's partial success, an unexported type of the clients.
var partial = regexp.MustCompile(`OTLP partial success: .*\((\d+) spans rejected\)`)

// judge classifies the error of an upload by the OTLP specification: retryable or final.
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
			return len(s.Details()) > 0 // the backend sent a retry delay
		}
	}
	// The HTTP client's text for 429, 502, 503 and 504.
	return strings.Contains(err.Error(), "retry-able request failure")
}

// printable makes a backend's text fit for one line on a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, span.Bound(s))
	return strings.Join(strings.Fields(s), " ")
}
