// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// TestEndpoint: each configured field of an endpoint is applied, and each valid endpoint can be
// listened on.
func TestEndpoint(t *testing.T) {
	pair := config.TLSConfiguration{CertFile: "c", KeyFile: "k"}
	for name, tc := range map[string]struct {
		reason     string
		configured config.EndpointConfiguration
		want       httpserve.Endpoint
		good       bool
	}{
		"nowhere": {"nothing is received", config.EndpointConfiguration{}, httpserve.Endpoint{}, true},
		"loopback": {
			"it may be plaintext",
			config.EndpointConfiguration{Address: "[::1]:4317"},
			httpserve.Endpoint{Address: "[::1]:4317"},
			true,
		},
		"localhost": {
			"so may this",
			config.EndpointConfiguration{Address: "localhost:0"},
			httpserve.Endpoint{Address: "localhost:0"},
			true,
		},
		"open": {
			"it must be configured",
			config.EndpointConfiguration{Address: ":4317"},
			httpserve.Endpoint{Address: ":4317"},
			false,
		},
		"insecure": {
			"it is",
			config.EndpointConfiguration{Address: ":4317", Insecure: true},
			httpserve.Endpoint{Address: ":4317", Insecure: true},
			true,
		},
		"mutual TLS": {
			"each file is what it is", config.EndpointConfiguration{
				Address: ":1",
				TLS:     config.TLSConfiguration{CertFile: "c", KeyFile: "k", ClientCAFile: "a"},
			},
			httpserve.Endpoint{Address: ":1", TLS: httpserve.TLS{CertFile: "c", KeyFile: "k", ClientCAFile: "a"}}, true,
		},
		"token": {
			"it is a file",
			config.EndpointConfiguration{Address: "localhost:1", TokenFile: "t"},
			httpserve.Endpoint{Address: "localhost:1", TokenFile: "t"},
			true,
		},
		"token, no address": {
			"a field is missing",
			config.EndpointConfiguration{TokenFile: "t"},
			httpserve.Endpoint{TokenFile: "t"},
			false,
		},
		"half": {
			"a CA is no certificate", config.EndpointConfiguration{
				Address: "localhost:1",
				TLS:     config.TLSConfiguration{ClientCAFile: "a"},
			},
			httpserve.Endpoint{Address: "localhost:1", TLS: httpserve.TLS{ClientCAFile: "a"}}, false,
		},
		"no address": {
			"a field is missing",
			config.EndpointConfiguration{TLS: pair},
			httpserve.Endpoint{TLS: httpserve.TLS{CertFile: "c", KeyFile: "k"}},
			false,
		},
		"no port": {
			"none is guessed",
			config.EndpointConfiguration{Address: "localhost", TLS: pair},
			httpserve.Endpoint{Address: "localhost", TLS: httpserve.TLS{CertFile: "c", KeyFile: "k"}},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			if diff := cmp.Diff(tc.want, endpoint(tc.configured)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			c := config.Default()
			c.Receivers.OTLP.GRPC = tc.configured
			configured, listened := c.Validate(), endpoint(tc.configured).Validate("spans")
			if (configured == nil) != tc.good || (listened == nil) != tc.good {
				t.Errorf("the configuration returns %v, the endpoint %v", configured, listened)
			}
		})
	}
}
