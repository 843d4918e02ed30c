// SPDX-License-Identifier: Apache-2.0

package config

// APIConfiguration is the section `api`.
type APIConfiguration struct {
	// The address to listen on, as `host:port`. An empty host means every address of the machine.
	// Without TLS it must be of loopback, such as `127.0.0.1:7070`, unless `insecure` is set. Port
	// 0 takes a free port.
	Address string `json:"address"`

	// Allows an address that is not of loopback without TLS. The API has no accounts: every client
	// that reaches the address can read every trace, and so can the network in between. Limit the
	// clients with a NetworkPolicy or a firewall.
	Insecure bool `json:"insecure"`

	// The certificate of the API; without one it is plaintext. `clientCAFile` admits only clients
	// with a certificate. `lifeline ls`, `trace` and `watch` show none. The files are read again
	// when they change.
	TLS TLSConfiguration `json:"tls"`

	// How many clients may follow the traces live at a time. One more is told to come back later.
	MaxStreams int `json:"maxStreams"`
}

// TelemetryConfiguration is the section `telemetry`.
type TelemetryConfiguration struct {
	// The address to listen on, as `host:port`, for `/metrics`, `/healthz` and `/readyz`. An empty
	// host means every address of the machine, which the probes of a Pod need. Port 0 takes a free
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
	// The least level that is written: `debug`, `info`, `warn` or `error`.
	Level string `json:"level"`

	// The form of a line: `text` or `json`.
	Format string `json:"format"`
}
