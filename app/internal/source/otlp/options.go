// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
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

// Names of the endpoints in errors and in the log.
const (
	nameGRPC = "OTLP over gRPC"
	nameHTTP = "OTLP over HTTP"
)

// Upper limits of Options.
const (
	maxMaxBytes   = 256 << 20
	maxTimeout    = 10 * time.Minute
	maxRetryAfter = time.Hour
)

// Options configures a Receiver. Sink is required, and the address of GRPC or HTTP. The other
// fields have defaults.
type Options struct {
	// Sink receives the spans.
	Sink Sink

	// GRPC and HTTP are the endpoints of the two transports.
	GRPC, HTTP httpserve.Endpoint
	// Path is the HTTP path for spans; empty means DefaultPath.
	Path string

	// MaxBytes limits a request in bytes, as sent and as decompressed; 0 means the default. The
	// decoded request may take four times as much.
	MaxBytes int
	// MaxRequests limits the concurrent requests over gRPC and HTTP together; 0 means the default.
	// Further requests wait for a while, with most of their bodies unread.
	MaxRequests int
	// MaxConnections limits the connections of each endpoint; further ones wait. 0 means the
	// default.
	MaxConnections int
	// Timeout limits the time for a request to wait, arrive and be accepted; 0 means the default.
	Timeout time.Duration
	// RetryAfter is the retry delay in the response to a request refused for lack of room. HTTP
	// rounds it up to whole seconds. 0 means the default.
	RetryAfter time.Duration

	// Clock returns the current time, for the check of span times; nil means time.Now.
	Clock func() time.Time
	// Log receives failures, unreadable certificates, and panics; nil means no log.
	Log *slog.Logger
}

// Validate returns an error that names the wrong field, or nil. It does not check files or
// addresses; New does.
func (o *Options) Validate() error {
	switch {
	case o.Sink == nil:
		return errors.New("cannot receive OTLP: Sink is nil")
	case o.GRPC.Address == "" && o.HTTP.Address == "":
		return errors.New("cannot receive OTLP: neither GRPC nor HTTP has an address")
	case o.Path != "" && (o.Path[0] != '/' || path.Clean(o.Path) != o.Path || strings.ContainsAny(o.Path, "{} ?#%")):
		return fmt.Errorf("cannot receive OTLP at Path %.80q: "+
			"a path begins with a slash, is clean, and has none of {, }, space, ?, # and %%", o.Path)
	case o.MaxBytes < 0 || o.MaxBytes > maxMaxBytes:
		return fmt.Errorf("cannot receive OTLP with MaxBytes %d: 1 to %d, or 0 for %d",
			o.MaxBytes, maxMaxBytes, DefaultMaxBytes)
	case o.MaxRequests < 0 || o.MaxConnections < 0:
		return fmt.Errorf("cannot receive OTLP with MaxRequests %d and MaxConnections %d: neither can be negative",
			o.MaxRequests, o.MaxConnections)
	case o.Timeout < 0 || o.Timeout > maxTimeout:
		return fmt.Errorf("cannot receive OTLP with Timeout %s: at most %s, or 0 for %s",
			o.Timeout, maxTimeout, DefaultTimeout)
	case o.RetryAfter < 0 || o.RetryAfter > maxRetryAfter:
		return fmt.Errorf("cannot receive OTLP with RetryAfter %s: at most %s, or 0 for %s",
			o.RetryAfter, maxRetryAfter, DefaultRetryAfter)
	}
	if err := o.GRPC.Validate(nameGRPC); err != nil {
		return err
	}
	return o.HTTP.Validate(nameHTTP)
}

// orDefaults returns o with defaults for its unset fields.
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
