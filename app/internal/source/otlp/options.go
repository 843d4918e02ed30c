// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/listen"
)

// Defaults of Options.
const (
	DefaultGRPCAddress = "127.0.0.1:4317"
	DefaultHTTPAddress = "127.0.0.1:4318"
	DefaultPath        = "/v1/traces"

	DefaultMaxBytes       = 8 << 20
	DefaultMaxRequests    = 8
	DefaultMaxConnections = 512
	DefaultTimeout        = 10 * time.Second
	DefaultRetryAfter     = 2 * time.Second
)

// What the endpoints are for, in errors and in the log.
const (
	nameGRPC = "OTLP over gRPC"
	nameHTTP = "OTLP over HTTP"
)

// The most that Options take.
const (
	maxMaxBytes   = 256 << 20
	maxTimeout    = 10 * time.Minute
	maxRetryAfter = time.Hour
)

// Options say where a Receiver listens, how much it takes, and who gets it.
// Sink is required, and an address of GRPC or HTTP; all else has defaults.
type Options struct {
	// Sink takes the spans.
	Sink Sink

	// GRPC and HTTP are where OTLP is received over each.
	GRPC, HTTP listen.Endpoint
	// Path is the HTTP path that spans are posted to; empty for DefaultPath.
	Path string

	// MaxBytes bounds a request, as sent and decompressed; 0 for the default.
	// Decoded it may take four times as much.
	MaxBytes int
	// MaxRequests bounds the requests at a time, over gRPC and HTTP together;
	// further ones wait for a while, the most of their bodies unread. 0 for the default.
	MaxRequests int
	// MaxConnections bounds the connections of each endpoint; further ones
	// wait. 0 for the default.
	MaxConnections int
	// Timeout is how long a request may take: to wait, to come in, to be
	// accepted. 0 for the default.
	Timeout time.Duration
	// RetryAfter is when a sender is asked to come again that was refused for
	// lack of room; HTTP can only say whole seconds. 0 for the default.
	RetryAfter time.Duration

	// Clock tells what times of spans are absurd; nil is time.Now.
	Clock func() time.Time
	// Log is told of failures, certificates that cannot be read, and panics; nil is silent.
	Log *slog.Logger
}

// Validate says what is wrong with Options, naming the field, or returns nil.
// Whether files can be read and addresses are free, New finds out.
func (o *Options) Validate() error {
	switch {
	case o.Sink == nil:
		return errors.New("cannot receive OTLP: nobody takes the spans; Sink is nil")
	case o.GRPC.Address == "" && o.HTTP.Address == "":
		return errors.New("cannot receive OTLP: neither GRPC nor HTTP has an address")
	case o.Path != "" && (o.Path[0] != '/' || path.Clean(o.Path) != o.Path || strings.ContainsAny(o.Path, "{} ?#%")):
		return fmt.Errorf("cannot receive OTLP at Path %.80q: a path begins with a slash, and is plain", o.Path)
	case o.MaxBytes < 0 || o.MaxBytes > maxMaxBytes:
		return fmt.Errorf(
			"cannot receive OTLP with MaxBytes %d: 1 to %d, or 0 for %d",
			o.MaxBytes,
			maxMaxBytes,
			DefaultMaxBytes,
		)
	case o.MaxRequests < 0 || o.MaxConnections < 0:
		return fmt.Errorf(
			"cannot receive OTLP with MaxRequests %d and MaxConnections %d: neither can be negative",
			o.MaxRequests,
			o.MaxConnections,
		)
	case o.Timeout < 0 || o.Timeout > maxTimeout:
		return fmt.Errorf(
			"cannot receive OTLP with Timeout %s: at most %s, or 0 for %s",
			o.Timeout,
			maxTimeout,
			DefaultTimeout,
		)
	case o.RetryAfter < 0 || o.RetryAfter > maxRetryAfter:
		return fmt.Errorf(
			"cannot receive OTLP with RetryAfter %s: at most %s, or 0 for %s",
			o.RetryAfter,
			maxRetryAfter,
			DefaultRetryAfter,
		)
	}
	if err := o.GRPC.Validate(nameGRPC); err != nil {
		return err
	}
	return o.HTTP.Validate(nameHTTP)
}

// orDefaults returns o with the defaults of what is not set.
func (o Options) orDefaults() Options {
	set(&o.Path, DefaultPath)
	set(&o.MaxBytes, DefaultMaxBytes)
	set(&o.MaxRequests, DefaultMaxRequests)
	set(&o.MaxConnections, DefaultMaxConnections)
	set(&o.Timeout, DefaultTimeout)
	set(&o.RetryAfter, DefaultRetryAfter)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
