// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	_, certFile, keyFile := authority(t)
	_, _, otherKey := authority(t)
	noCert := write(t, "no.crt", []byte("nothing"))
	cases := map[string]struct {
		reason string
		flag   string
		env    map[string]string
		want   string // the endpoint; "" for none
		err    []string
	}{
		"nothing": {reason: "nothing set, nothing sent"},
		"protocol alone": {
			reason: "a protocol names no place", env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		},
		"asked for": {
			reason: "the exporter's default place", env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"},
			want: "http://localhost:4318/v1/traces",
		},
		"asked for gRPC": {
			reason: "the default place of gRPC",
			env:    map[string]string{"OTEL_TRACES_EXPORTER": "console,otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			want:   "grpc://localhost:4317",
		},
		"disabled": {
			reason: "the SDK's switch counts here too", env: map[string]string{
				"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318",
			},
		},
		"none": {
			reason: "no traces wanted", env: map[string]string{
				"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318",
			},
		},
		"other exporter": {
			reason: "another exporter is not ours", env: map[string]string{
				"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318",
			},
		},
		"blank": {
			reason: "an empty variable is none", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "  "},
		},
		"base": {
			reason: "a base URL", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x/otlp"},
			want: "https://x/otlp/v1/traces",
		},
		"traces": {
			reason: "a URL as it is", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://x"},
			want: "https://x/",
		},
		"4317": {reason: "gRPC's port means gRPC", flag: "localhost:4317", want: "grpc://localhost:4317"},
		"http 4317": {
			reason: "with a scheme too", flag: "http://localhost:4317", want: "grpc://localhost:4317",
		},
		"http on 4317": {
			reason: "unless the protocol is named", flag: "http://localhost:4317",
			env:  map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
			want: "http://localhost:4317/v1/traces",
		},
		"grpc port": {reason: "gRPC's port is the default", flag: "grpc://[::1]", want: "grpc://[::1]:4317"},
		"host alone": {
			reason: "a name could be anything", flag: "localhost", err: []string{"--otlp=localhost", "host:port"},
		},
		"no port": {
			reason: "nor is an empty port one", flag: "localhost:", err: []string{"--otlp=localhost:", "host:port"},
		},
		"scheme": {
			reason: "no other scheme", flag: "ftp://x:1", err: []string{"--otlp=ftp://x:1", "scheme"},
		},
		"no host": {reason: "a URL without a host", flag: "http://:4318", err: []string{"--otlp", "no host"}},
		"broken": {
			reason: "no URL, and no password in the message", flag: "http://u:secret@x:port", err: []string{
				"--otlp", "port",
			},
		},
		"credentials": {
			reason: "the client would drop them", flag: "https://u:secret@x", err: []string{
				"--otlp", "OTEL_EXPORTER_OTLP_HEADERS",
			},
		},
		"query": {
			reason: "the client would drop it",
			env:    map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x/?key=secret"}, err: []string{
				"OTEL_EXPORTER_OTLP_ENDPOINT", "query",
			},
		},
		"env no scheme": {
			reason: "HTTP needs a URL", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"},
			err: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"},
		},
		"env gRPC": {
			reason: "any form that gRPC knows",
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "unix:///run/otel.sock",
				"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, want: "unix:///run/otel.sock",
		},
		"env gRPC broken": {
			reason: "but none that the client would drop",
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4317",
				"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, err: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4317"},
		},
		"env scheme": {
			reason: "of HTTP", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "grpc://x:1"},
			err: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=grpc://x:1", "http or https"},
		},
		"protocol": {
			reason: "a protocol that is none", flag: "http://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "thrift"}, err: []string{
				"OTEL_EXPORTER_OTLP_PROTOCOL=thrift",
			},
		},
		"compression": {
			reason: "only gzip", flag: "http://x", env: map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "lz4"},
			err: []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "lz4"},
		},
		"timeout": {
			reason: "milliseconds", flag: "http://x", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "5s"},
			err: []string{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "5s"},
		},
		"headers": {
			reason: "name=value, and no value in the message", flag: "http://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b,Bearer secret"}, err: []string{
				"OTEL_EXPORTER_OTLP_HEADERS", "header 2",
			},
		},
		"header value": {
			reason: "percent-encoded", flag: "http://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=%zzsecret"}, err: []string{
				"OTEL_EXPORTER_OTLP_HEADERS", "header a",
			},
		},
		"certificate": {
			reason: "a file that is there", flag: "https://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such"}, err: []string{
				"OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such",
			},
		},
		"no certificate": {
			reason: "and holds one", flag: "https://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": noCert}, err: []string{
				"OTEL_EXPORTER_OTLP_CERTIFICATE", "no PEM",
			},
		},
		"key alone": {
			reason: "a key needs its certificate", flag: "https://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY": keyFile}, err: []string{
				"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
			},
		},
		"wrong key": {
			reason: "and its own one", flag: "https://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": certFile,
				"OTEL_EXPORTER_OTLP_CLIENT_KEY": otherKey}, err: []string{
				"OTEL_EXPORTER_OTLP_CLIENT_KEY", "private key",
			},
		},
		"TLS by plain gRPC": {
			reason: "nor is it one of plain gRPC",
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317",
				"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": certFile},
			err: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"},
		},
		"TLS in the clear": {
			reason: "a certificate for plain HTTP is a mistake", flag: "http://x",
			env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": certFile}, err: []string{"--otlp", "TLS"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			e, err := New(t.Context(), Options{Endpoint: tc.flag})
			if e != nil {
				defer finish(t, e) // nothing was sent
			}
			if (err != nil) != (tc.err != nil) {
				t.Fatalf("%s: got error %v", tc.reason, err)
			}
			for _, want := range tc.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is missing in: %v", tc.reason, want, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: it tells a secret: %v", tc.reason, err)
			}
			if got := e.Endpoint(); got != tc.want {
				t.Errorf("%s: it sends to %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestPortOfTheOtherProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317")
	said := newWarnings()
	e := start(t, Options{Warn: said.warn})
	if err := finish(t, e); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.text(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc") {
		t.Errorf("warnings: %q", said.text())
	}
}
