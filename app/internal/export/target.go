// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// defaultSetting is the name of Options.Endpoint in messages, unless Options.Setting is set.
const defaultSetting = "--otlp"

// The protocols of OTEL_EXPORTER_OTLP_PROTOCOL.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
	protocolJSON = "http/json"
)

// target is the destination of spans.
type target struct {
	// name is the address without credentials, for messages.
	name string
	// origin is the flag or variable of the address.
	origin string
	grpc   bool
	// clear means that the address requests plain text.
	clear bool
	// url overrides the client's address from the environment; may be empty.
	url string
}

// resolve returns the destination; nil if there is none.
func resolve(o Options) (*target, error) {
	if o.Endpoint != "" {
		return fromFlag(o.Endpoint, cmp.Or(o.Setting, defaultSetting))
	}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	exporters := strings.FieldsFunc(env("OTEL_TRACES_EXPORTER"), func(r rune) bool { return r == ',' || r == ' ' })
	wanted := slices.Contains(exporters, "otlp")
	if len(exporters) > 0 && !wanted {
		if !slices.Contains(exporters, "none") {
			o.Warn("OTEL_TRACES_EXPORTER=%s is not known here, only otlp and none: sending no spans",
				printable(env("OTEL_TRACES_EXPORTER")))
		}
		return nil, nil
	}
	return fromEnvironment(o, wanted)
}

func fromFlag(endpoint, flag string) (*target, error) {
	protocol, err := protocol()
	if err != nil {
		return nil, err
	}
	raw := endpoint
	if !strings.Contains(raw, "://") {
		if _, port, err := net.SplitHostPort(raw); err != nil || port == "" {
			return nil, fmt.Errorf("%s=%s must be a URL or host:port", flag, printable(endpoint))
		}
		raw = "http://" + raw
	}
	u, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s=%s cannot be used: %w", flag, redact(raw), err)
	}
	to := &target{origin: flag}
	switch u.Scheme {
	case "grpc", "grpcs":
		to.grpc = true
		u.Scheme = map[string]string{"grpc": "http", "grpcs": "https"}[u.Scheme]
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "4317")
		}
	case "http", "https":
		to.grpc = protocol == protocolGRPC || protocol == "" && u.Port() == "4317"
	default:
		return nil, fmt.Errorf("%s=%s: the scheme must be http, https, grpc or grpcs", flag, redact(raw))
	}
	if !to.grpc && !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	to.url, to.name, to.clear = u.String(), u.String(), u.Scheme == "http"
	if to.grpc {
		to.name = "grpc://" + u.Host
	}
	return to, nil
}

func fromEnvironment(o Options, wanted bool) (*target, error) {
	protocol, err := protocol()
	if err != nil {
		return nil, err
	}
	to := &target{origin: "OTEL_TRACES_EXPORTER=otlp", grpc: protocol == protocolGRPC}
	to.name = "http://localhost:4318/v1/traces"
	if to.grpc {
		to.name = "grpc://localhost:4317"
	}
	name, value := firstEnv("TRACES_ENDPOINT", "ENDPOINT")
	if value == "" {
		if !wanted {
			return nil, nil
		}
		return to, nil
	}
	to.origin = name
	u, err := parse(value)
	if to.grpc {
		if err := to.nameGRPC(name, value); err != nil {
			return nil, err
		}
		return to, nil
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s=%s cannot be used: %w", name, redact(value), err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s=%s: the scheme must be http or https", name, redact(value))
	case strings.HasSuffix(name, "_TRACES_ENDPOINT"):
		u.Path = cmp.Or(u.Path, "/")
	default:
		u = u.JoinPath("v1", "traces")
	}
	to.name, to.clear = u.String(), u.Scheme == "http"
	if protocol == "" && u.Port() == "4317" {
		o.Warn("%s=%s names gRPC's port, but spans go there by HTTP: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc", name,
			redact(value))
	}
	return to, nil
}

// nameGRPC sets the name of a target in any form that gRPC supports, such as unix:///run/otel.sock
// or localhost:4317.
func (t *target) nameGRPC(variable, value string) error {
	u, err := url.Parse(value)
	var bad *url.Error
	switch {
	case errors.As(err, &bad): // the client would log it and use its default
		return fmt.Errorf("%s=%s cannot be used: %w", variable, redact(value), bad.Err)
	case u.Scheme == "http" || u.Scheme == "https":
		_, err = parse(value)
		if err != nil {
			return fmt.Errorf("%s=%s cannot be used: %w", variable, redact(value), err)
		}
		t.name, t.clear = "grpc://"+u.Host, u.Scheme == "http"
	default:
		t.name = redact(value)
	}
	return nil
}

// client creates OpenTelemetry's client for the target. Its own retries are short: they honour the
// backend's retry delay, and the queue does the rest.
func (t *target) client() otlptrace.Client {
	if t.grpc {
		opts := []otlptracegrpc.Option{
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
				Enabled: true, InitialInterval: 100 * time.Millisecond, MaxInterval: time.Second,
				MaxElapsedTime: time.Second,
			}),
			// By default gRPC would wait up to two minutes before it reconnects to a backend after
			// a long outage.
			otlptracegrpc.WithDialOption(grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{
					BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
				},
				MinConnectTimeout: 5 * time.Second,
			})),
		}
		if t.url != "" {
			opts = append(opts, otlptracegrpc.WithEndpointURL(t.url))
		}
		return otlptracegrpc.NewClient(opts...)
	}
	opts := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: 100 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: time.Second,
	})}
	if t.url != "" {
		opts = append(opts, otlptracehttp.WithEndpointURL(t.url))
	}
	return otlptracehttp.NewClient(opts...)
}

// parse parses an address with a scheme and a host. Its errors omit the address, which may hold a
// password.
func parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, bad.Err
	case err != nil:
		return nil, err
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	case u.User != nil:
		return nil, errors.New("credentials in it would not be sent: set OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a query in it would not be sent")
	}
	return u, nil
}

// redact hides the password and the query of an address, even a malformed one.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		if u.RawQuery != "" {
			u.RawQuery = "…"
		}
		return printable(u.Redacted())
	}
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		if _, host, ok := strings.Cut(rest, "@"); ok {
			return printable(scheme + "://…@" + host)
		}
	}
	return printable(raw)
}

// env returns a variable without surrounding blanks.
func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// firstEnv returns the first OTLP variable that is set.
func firstEnv(suffixes ...string) (name, value string) {
	for _, suffix := range suffixes {
		name = "OTEL_EXPORTER_OTLP_" + suffix
		if value = env(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// protocol returns the protocol in the environment, or "".
func protocol() (string, error) {
	variable, value := firstEnv("TRACES_PROTOCOL", "PROTOCOL")
	switch value {
	case "", protocolGRPC, protocolHTTP, protocolJSON:
		return value, nil
	}
	return "", fmt.Errorf("%s=%s is no protocol: use %s, %s or %s",
		variable, printable(value), protocolGRPC, protocolHTTP, protocolJSON)
}
