// SPDX-License-Identifier: Apache-2.0

package config

// APIConfiguration is the section `api`.
type APIConfiguration struct {
	// The address to listen on, as `host:port`. An empty host means every address of the machine.
	// It must be of loopback, such as `127.0.0.1:7070`, unless `tls` is set, and either `tokenFile` or
	// `authorization: kubernetes`. Port 0 means a free port.
	Address string `json:"address"`

	// The certificate of the API; without one the API is plaintext. `clientCAFile` admits only
	// clients with a certificate. The commands of `lifeline` send none. Changed files are read again.
	TLS TLSConfiguration `json:"tls"`

	// A file with a token of at least 16 bytes; empty means no token. Every request must carry it,
	// as `Authorization: Bearer TOKEN`. Only with `authorization: open`: a client with the token can read
	// every trace. A changed file is read again.
	TokenFile string `json:"tokenFile"`

	// Who may see what. `kubernetes`: each caller sees the changes of the objects that the cluster lets them
	// see; callers must be known, by `authentication` or `aggregation`. `open`: every client of the API sees
	// every trace. See [who may see what](guides/rights.md).
	Authorization string `json:"authorization"`

	// How callers of `address` are known, with `authorization: kubernetes`.
	Authentication AuthenticationConfiguration `json:"authentication"`

	// The listener behind the API server, for `kubectl get changes` and the commands of `lifeline`.
	Aggregation AggregationConfiguration `json:"aggregation"`

	// Whether the log has a line for each request for data: the user, the number of their groups, the right,
	// the path, the namespaces, the status and the duration. It has no parameters and no data.
	Audit bool `json:"audit"`

	// The maximum number of clients that follow the traces live at the same time, at most 10000.
	// Further clients get an error and can retry later.
	MaxStreams int `json:"maxStreams"`
}

// TelemetryConfiguration is the section `telemetry`.
type TelemetryConfiguration struct {
	// The address to listen on, as `host:port`, for `/metrics`, `/healthz` and `/readyz`. An empty
	// host means every address of the machine, which the probes of a Pod need. Port 0 means a free
	// port.
	Address string `json:"address"`

	// Whether the profiles of the Go runtime are served below `/debug/pprof`.
	Pprof bool `json:"pprof"`
}

// The values of LogConfiguration.
const (
	LevelDebug = "debug"
	LevelInfo  = "info"
	LevelWarn  = "warn"
	LevelError = "error"

	FormatText = "text"
	FormatJSON = "json"
)

// LogConfiguration is the section `log`.
type LogConfiguration struct {
	// The lowest level that is logged: `debug`, `info`, `warn` or `error`.
	Level string `json:"level"`

	// The format of a line: `text` or `json`.
	Format string `json:"format"`
}
