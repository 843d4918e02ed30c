// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

func TestCallers(t *testing.T) {
	tls := TLSConfiguration{CertFile: "tls.crt", KeyFile: "tls.key"}
	cases := map[string]struct {
		reason string
		edit   func(*APIConfiguration)
		err    string
	}{
		"kubernetes on loopback": {"a token is enough", func(*APIConfiguration) {}, ""},
		"beyond loopback": {
			"each caller has a token of their own", func(c *APIConfiguration) { c.Address, c.TLS = ":7070", tls }, "",
		},
		"beyond loopback in plaintext": {
			"tokens would be readable", func(c *APIConfiguration) { c.Address = ":7070" },
			`api.address: Invalid value: ":7070": must be of loopback, such as 127.0.0.1:7070, unless api.tls ` +
				`is set, ` +
				`and either api.tokenFile or api.authorization: kubernetes`,
		},
		"unknown": {
			"a closed list", func(c *APIConfiguration) { c.Authorization = "rbac" },
			`api.authorization: Unsupported value: "rbac": supported values: "open", "kubernetes"`,
		},
		"nobody": {
			"no caller would be known", func(c *APIConfiguration) { c.Authentication.ServiceAccounts.Audiences = nil },
			"api.authentication: Required value: must have serviceAccounts.audiences, oidc, clientCAFile or " +
				"proxy, or " +
				"api.aggregation must have an address: no caller would be known",
		},
		"token": {
			"two meanings of one header", func(c *APIConfiguration) { c.TokenFile = "token" },
			"api.tokenFile: Forbidden: must not be set with api.authorization: kubernetes, whose callers have " +
				"tokens of " +
				"their own",
		},
		"all certificates": {
			"callers with tokens have none", func(c *APIConfiguration) { c.TLS = tls; c.TLS.ClientCAFile = "ca.crt" },
			"api.tls.clientCAFile: Forbidden: must not be set with api.authorization: kubernetes: set " +
				"api.authentication.clientCAFile",
		},
		"certificates in plaintext": {
			"there are none", func(c *APIConfiguration) { c.Authentication.ClientCAFile = "ca.crt" },
			"api.authentication.clientCAFile: Forbidden: needs api.tls: there are no certificates in plaintext",
		},
		"open with callers": {
			"they would not be asked for",
			func(c *APIConfiguration) {
				c.Authorization, c.TLS, c.Authentication.ClientCAFile = AuthorizationOpen, tls, "ca.crt"
			},
			"api.authentication.clientCAFile: Forbidden: needs api.authorization: kubernetes",
		},
		"issuer": {
			"", func(c *APIConfiguration) {
				c.Authentication.OIDC = []OIDCConfiguration{{Issuer: "https://sso.example.com", ClientID: "lifeline"}}
			}, "",
		},
		"issuer in plaintext": {
			"its keys could be replaced", func(c *APIConfiguration) {
				c.Authentication.OIDC = []OIDCConfiguration{{Issuer: "http://sso.example.com", ClientID: "lifeline"}}
			},
			`api.authentication.oidc[0].issuer: Invalid value: "http://sso.example.com": must be a URL with ` +
				`https, without ` +
				`user, query and fragment`,
		},
		"issuer without client": {
			"", func(c *APIConfiguration) {
				c.Authentication.OIDC = []OIDCConfiguration{{Issuer: "https://sso.example.com"}}
			},
			"api.authentication.oidc[0].clientID: Required value: must be the client of Lifeline at the issuer",
		},
		"audience": {
			"", func(c *APIConfiguration) { c.Authentication.ServiceAccounts.Audiences = []string{"life line"} },
			`api.authentication.serviceAccounts.audiences[0]: Invalid value: "life line": must be a word, such ` +
				`as lifeline`,
		},
		"proxy": {
			"", func(c *APIConfiguration) {
				c.TLS, c.Authentication.Proxy.ClientCAFile = tls, "proxy.crt"
				c.Authentication.Proxy.AllowedNames = []string{"oauth2-proxy"}
			}, "",
		},
		"proxy of any name": {
			"its authority may sign for others", func(c *APIConfiguration) {
				c.TLS, c.Authentication.Proxy.ClientCAFile = tls, "proxy.crt"
			},
			"api.authentication.proxy.allowedNames: Required value: must have the common name of the proxy's " +
				"certificate",
		},
		"proxy's header": {
			"", func(c *APIConfiguration) { c.Authentication.Proxy.UserHeaders = []string{"Authorization"} },
			`api.authentication.proxy.userHeaders[0]: Invalid value: "Authorization": must not be a header with ` +
				`another use`,
		},
		"aggregation": {
			"", func(c *APIConfiguration) {
				c.Aggregation.Address, c.Aggregation.Secret = ":7443", "lifeline-api"
			}, "",
		},
		"aggregation without certificates": {
			"", func(c *APIConfiguration) { c.Aggregation.Address = ":7443" },
			"api.aggregation.tls: Required value: must have certFile and keyFile, or set secret",
		},
		"aggregation of anyone": {
			"", func(c *APIConfiguration) { c.Aggregation.Address, c.Aggregation.TLS = ":7443", tls },
			"api.aggregation.tls.clientCAFile: Required value: must be set, or frontProxy: no client would be known",
		},
		"aggregation without address": {
			"", func(c *APIConfiguration) { c.Aggregation.FrontProxy = true },
			"api.aggregation.address: Required value: must be set with frontProxy",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			c := Default()
			c.API.Authorization = AuthorizationKubernetes
			tc.edit(&c.API)
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.err {
				t.Errorf("got  %s\nwant %s", got, tc.err)
			}
			if strings.Count(got, "\n") > 0 {
				t.Error("more than one error")
			}
		})
	}
}
