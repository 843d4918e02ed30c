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

// What reading a request may come to.
var (
	errMalformed = errors.New("the request is not OTLP")
	errTooLarge  = errors.New("the request is too large")
	errTooMuch   = errors.New("the spans of the request take too much memory")
	errTooSlow   = errors.New("the request took too long to come in")
)

// kind is why a request is refused.
type kind int

const (
	// full: the sink takes nothing now. busy: too many requests at a time.
	full kind = iota
	busy
	// slow: the body did not come in time. large, malformed: what it is.
	slow
	large
	malformed
	// foreign: it is no request of OTLP's at all, by method, path or type.
	foreign
	// unauthenticated: it does not carry the token.
	unauthenticated
	// broken: a bug.
	broken
	kinds
)

// kindNames are the keys of Stats.Refused.
var kindNames = [kinds]string{"full", "busy", "slow", "large", "malformed", "foreign", "unauthenticated", "bug"}

// refusal is a request that was not taken, as it is told to the sender. What the
// specification lets a sender repeat is full and busy; all else it drops.
type refusal struct {
	kind    kind
	code    codes.Code
	http    int
	message string
	// after is when to come again; 0 for never.
	after time.Duration
}

func (r *refusal) Error() string { return r.message }

// refuse makes a refusal; what stands in it of the request is bounded.
func refuse(k kind, code codes.Code, http int, message string) *refusal {
	return &refusal{kind: k, code: code, http: http, message: strings.ToValidUTF8(object.Bound(message), "\uFFFD")}
}

// refuseError is for an error of reading or decoding a request.
func refuseError(err error) *refusal {
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errTooMuch):
		return refuse(
			large,
			codes.ResourceExhausted,
			http.StatusRequestEntityTooLarge,
			err.Error()+": send smaller batches",
		)
	case errors.Is(err, errTooSlow):
		return refuse(slow, codes.DeadlineExceeded, http.StatusRequestTimeout, err.Error())
	}
	return refuse(malformed, codes.InvalidArgument, http.StatusBadRequest, err.Error())
}

// refuseFull says that the sink is full, refuseBusy that there are too many
// requests.
func (r *Receiver) refuseFull() *refusal {
	out := refuse(
		full,
		codes.Unavailable,
		http.StatusServiceUnavailable,
		"there is no room for more spans at the moment: send them again",
	)
	out.after = r.opts.RetryAfter
	return out
}

func (r *Receiver) refuseBusy() *refusal {
	out := refuse(
		busy,
		codes.Unavailable,
		http.StatusTooManyRequests,
		"there are too many requests at the moment: send it again",
	)
	out.after = r.opts.RetryAfter
	return out
}

// refuseStranger refuses a request without the token.
func refuseStranger() *refusal {
	return refuse(
		unauthenticated,
		codes.Unauthenticated,
		http.StatusUnauthorized,
		"the request does not carry the receiver's token: send it as \"Authorization: Bearer TOKEN\"",
	)
}

func refuseBug() *refusal {
	return refuse(
		broken,
		codes.Internal,
		http.StatusInternalServerError,
		"the receiver met a bug; its log has the details",
	)
}

// status is the refusal for gRPC.
func (r *refusal) status() *status.Status {
	s := status.New(r.code, r.message)
	if r.after > 0 {
		if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.after)}); err == nil {
			return detailed
		}
	}
	return s
}

// retryAfter is the HTTP header of that name; empty for none.
func (r *refusal) retryAfter() string {
	if r.after <= 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(r.after.Seconds())))
}
