// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Errors from reading or decoding a request.
var (
	errMalformed = errors.New("the request is not OTLP")
	errTooLarge  = errors.New("the request is too large")
	errTooMuch   = errors.New("the spans of the request take too much memory")
	errTooSlow   = errors.New("the request took too long to arrive")
)

// kind is the reason of a refused request.
type kind int

const (
	// full: the sink has no room. busy: there are too many concurrent requests.
	full kind = iota
	busy
	// slow: the body did not arrive in time. large, malformed: the request is too large or not
	// valid.
	slow
	large
	malformed
	// foreign: the method, path or content type is not OTLP's.
	foreign
	// unauthenticated: the request lacks the token.
	unauthenticated
	// broken: the receiver has a bug.
	broken
	kinds
)

// kindNames are the keys of Stats.Refused.
var kindNames = [kinds]string{"full", "busy", "slow", "large", "malformed", "foreign", "unauthenticated", "bug"}

// refusal is the error response to a refused request. The OTLP specification makes full and busy
// retryable; senders drop the others.
type refusal struct {
	kind    kind
	code    codes.Code
	http    int
	message string
	// after is the retry delay; 0 means no retry.
	after time.Duration
}

func (r *refusal) Error() string { return r.message }

// refuse returns a refusal. It bounds the message, which may quote the request.
func refuse(k kind, code codes.Code, http int, message string) *refusal {
	return &refusal{kind: k, code: code, http: http, message: strings.ToValidUTF8(object.Bound(message), "\uFFFD")}
}

// refuseError converts an error from reading or decoding a request.
func refuseError(err error) *refusal {
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errTooMuch):
		return refuse(large, codes.ResourceExhausted, http.StatusRequestEntityTooLarge,
			err.Error()+": send smaller batches")
	case errors.Is(err, errTooSlow):
		return refuse(slow, codes.DeadlineExceeded, http.StatusRequestTimeout, err.Error())
	}
	return refuse(malformed, codes.InvalidArgument, http.StatusBadRequest, err.Error())
}

// refuseFull is for a full sink, refuseBusy for too many concurrent requests.
func (r *Receiver) refuseFull() *refusal {
	out := refuse(full, codes.Unavailable, http.StatusServiceUnavailable,
		"no room for more spans at the moment: send them again")
	out.after = r.opts.RetryAfter
	return out
}

func (r *Receiver) refuseBusy() *refusal {
	out := refuse(busy, codes.Unavailable, http.StatusTooManyRequests, "too many requests at the moment: send it again")
	out.after = r.opts.RetryAfter
	return out
}

// refuseStranger refuses a request without the token.
func refuseStranger() *refusal {
	return refuse(unauthenticated, codes.Unauthenticated, http.StatusUnauthorized,
		"the request does not carry the receiver's token: send it as \"Authorization: Bearer TOKEN\"")
}

func refuseBug() *refusal {
	return refuse(broken, codes.Internal, http.StatusInternalServerError,
		"the receiver met a bug; its log has the details")
}

// status converts the refusal for gRPC.
func (r *refusal) status() *status.Status {
	s := status.New(r.code, r.message)
	if r.after > 0 {
		if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.after)}); err == nil {
			return detailed
		}
	}
	return s
}

// retryAfter returns the Retry-After header; "" means none.
func (r *refusal) retryAfter() string {
	if r.after <= 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(r.after.Seconds())))
}
