// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"os"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// Options configure a server.
type Options struct {
	// Config is the complete and valid configuration. File is its file, which is read again when it
	// changes; empty without a file.
	Config *config.ServerConfiguration
	File   string
	// Overrides are the overrides of the file.
	Overrides []config.Override
	// Connect returns the connection to the cluster. It reads it again at each call, since
	// credentials on disk may be renewed.
	Connect func() (*rest.Config, error)
	// Namespace is the context's namespace, the default for Leases.
	Namespace string
	// Version is the version of this build.
	Version string
	// Log receives the log lines; nil means os.Stderr.
	Log io.Writer
	// FreePort replaces an api.address that cannot be used by a free port of the same host.
	FreePort bool
	// Opened gets the URL of the API once it answers; nil means that nothing needs it. It is called from
	// another goroutine.
	Opened func(url string)
	// Reload signals that the configuration should be read again; may be nil.
	Reload <-chan os.Signal
}
