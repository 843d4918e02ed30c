// SPDX-License-Identifier: Apache-2.0

package config

// The values of APIConfiguration.Authorization.
const (
	AuthorizationOpen       = "open"
	AuthorizationKubernetes = "kubernetes"
)

// AuthenticationConfiguration is the section `api.authentication`.
type AuthenticationConfiguration struct {
	// Tokens of ServiceAccounts, such as those of `kubectl create token NAME --audience lifeline`.
	ServiceAccounts ServiceAccountsConfiguration `json:"serviceAccounts"`

	// Issuers of OIDC ID tokens, at most 16. Lifeline needs a client of its own at each issuer: a token for
	// the cluster's client would open the cluster to this server.
	OIDC []OIDCConfiguration `json:"oidc"`

	// The file with the certificate authorities of callers, in PEM; empty means that no certificate is
	// accepted. As for the API server, the common name is the user, and the organizations are the groups. A
	// changed file is read again.
	ClientCAFile string `json:"clientCAFile"`

	// A proxy that authenticates, such as oauth2-proxy, and sends the user in headers. They count only under a
	// client certificate of the proxy. A user's name that begins with `system:` is refused, and such groups are
	// left out.
	Proxy ProxyConfiguration `json:"proxy"`
}

// ServiceAccountsConfiguration is the section `api.authentication.serviceAccounts`.
type ServiceAccountsConfiguration struct {
	// The audiences of accepted tokens, at most 8; none means that no such token is accepted. The API server
	// checks each token. Tokens without one of these audiences are refused without a question: they could be
	// used against the cluster.
	Audiences []string `json:"audiences"`
}

// OIDCConfiguration is an element of `api.authentication.oidc`.
type OIDCConfiguration struct {
	// The URL of the issuer, as in the claim `iss`; it must begin with `https://`.
	Issuer string `json:"issuer"`

	// The client of Lifeline at the issuer; it must be in the claim `aud`.
	ClientID string `json:"clientID"`

	// The claim with the user's name; empty means `sub`. An `email` that the issuer has not verified is refused.
	UsernameClaim string `json:"usernameClaim"`

	// The text in front of the user's name, as at the API server.
	UsernamePrefix string `json:"usernamePrefix"`

	// The claim with the user's groups; empty means none.
	GroupsClaim string `json:"groupsClaim"`

	// The text in front of each group, as at the API server.
	GroupsPrefix string `json:"groupsPrefix"`

	// The file with the certificate authorities of the issuer, in PEM; empty means those of the system.
	CAFile string `json:"caFile"`
}

// ProxyConfiguration is the section `api.authentication.proxy`.
type ProxyConfiguration struct {
	// The file with the certificate authority of the proxy, in PEM; empty means no proxy. It should sign for
	// the proxy alone. A changed file is read again.
	ClientCAFile string `json:"clientCAFile"`

	// The common names of the proxy's certificate. At least one is needed.
	AllowedNames []string `json:"allowedNames"`

	// The headers with the user; the first one with a value counts.
	UserHeaders []string `json:"userHeaders"`

	// The headers with the user's groups, separated by commas.
	GroupHeaders []string `json:"groupHeaders"`
}

// AggregationConfiguration is the section `api.aggregation`. It needs `authorization: kubernetes`.
type AggregationConfiguration struct {
	// The address to listen on, as `host:port`; empty means no listener. `lifeline discovery` connects to it,
	// and sends the caller that the API server has authenticated.
	Address string `json:"address"`

	// The Secret, in the namespace of the server, with the certificates of both sides. `lifeline discovery`
	// makes and renews it. Either this or `tls` is needed.
	Secret string `json:"secret"`

	// The certificate of this listener, and the certificate authority of its client. Changed files are read
	// again.
	TLS TLSConfiguration `json:"tls"`

	// The common names of the client's certificate; empty means any that `tls.clientCAFile` or `secret`
	// permits.
	AllowedNames []string `json:"allowedNames"`

	// Whether the API server itself may connect, without `lifeline discovery`. Its certificate is checked as the
	// ConfigMap `kube-system/extension-apiserver-authentication` says.
	FrontProxy bool `json:"frontProxy"`
}
