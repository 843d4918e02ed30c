// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxAudiences, maxIssuers and maxList bound lists of the section api.
const maxAudiences, maxIssuers, maxList = 8, 16, 64

// validateCallers checks how callers are known.
func validateCallers(v *validator, api *field.Path, c *APIConfiguration) {
	v.oneOf(api.Child("authorization"), c.Authorization, AuthorizationOpen, AuthorizationKubernetes)
	path := api.Child("authentication")
	a := c.Authentication
	validateAudiences(v, path.Child("serviceAccounts", "audiences"), a.ServiceAccounts.Audiences)
	validateIssuers(v, path.Child("oidc"), a.OIDC)
	validateProxy(v, path.Child("proxy"), a.Proxy)
	validateAggregation(v, api.Child("aggregation"), c.Aggregation)
	validateNeeds(v, api, c)
}

// validateNeeds checks which fields require, or exclude, each other.
func validateNeeds(v *validator, api *field.Path, c *APIConfiguration) {
	a, path := c.Authentication, api.Child("authentication")
	kubernetes := c.Authorization == AuthorizationKubernetes
	set := []struct {
		path *field.Path
		is   bool
	}{
		{path.Child("oidc"), len(a.OIDC) > 0},
		{path.Child("clientCAFile"), a.ClientCAFile != ""},
		{path.Child("proxy", "clientCAFile"), a.Proxy.ClientCAFile != ""},
		{api.Child("aggregation", "address"), c.Aggregation.Address != ""},
	}
	known := len(a.ServiceAccounts.Audiences) > 0
	for _, s := range set {
		if s.is && c.Authorization == AuthorizationOpen {
			v.wrong = append(v.wrong, field.Forbidden(s.path, "needs api.authorization: "+AuthorizationKubernetes))
		}
		known = known || s.is
	}
	if !kubernetes {
		return
	}
	if !known {
		v.wrong = append(v.wrong, field.Required(path, "must have serviceAccounts.audiences, oidc, clientCAFile or "+
			"proxy, or api.aggregation must have an address: no caller would be known"))
	}
	if c.TokenFile != "" {
		v.wrong = append(v.wrong, field.Forbidden(api.Child("tokenFile"),
			"must not be set with api.authorization: "+AuthorizationKubernetes+
				", whose callers have tokens of their own"))
	}
	if c.TLS.ClientCAFile != "" {
		v.wrong = append(v.wrong, field.Forbidden(api.Child("tls", "clientCAFile"),
			"must not be set with api.authorization: "+AuthorizationKubernetes+": set "+
				path.Child("clientCAFile").String()))
	}
	for _, s := range set[1:3] {
		if s.is && c.TLS == (TLSConfiguration{}) {
			v.wrong = append(v.wrong, field.Forbidden(s.path, "needs api.tls: there are no certificates in plaintext"))
		}
	}
}

func validateAudiences(v *validator, path *field.Path, all []string) {
	if len(all) > maxAudiences {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), maxAudiences))
	}
	v.each(path, all, func(at *field.Path, a string) {
		if a == "" || strings.ContainsAny(a, " \t\r\n") {
			v.invalid(at, a, "must be a word, such as lifeline")
		}
	})
}

func validateIssuers(v *validator, path *field.Path, all []OIDCConfiguration) {
	if len(all) > maxIssuers {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), maxIssuers))
	}
	seen := map[string]bool{}
	for i, c := range all {
		at := path.Index(i)
		u, err := url.Parse(c.Issuer)
		switch {
		case c.Issuer == "":
			v.wrong = append(v.wrong, field.Required(at.Child("issuer"), "must be the URL of the issuer"))
		case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
			v.invalid(at.Child("issuer"), c.Issuer, "must be a URL with https, without user, query and fragment")
		case seen[c.Issuer+" "+c.ClientID]:
			v.wrong = append(v.wrong, field.Duplicate(at.Child("clientID"), shorten(c.ClientID)))
		}
		seen[c.Issuer+" "+c.ClientID] = true
		if c.ClientID == "" {
			v.wrong = append(v.wrong,
				field.Required(at.Child("clientID"), "must be the client of Lifeline at the issuer"))
		}
		if c.GroupsPrefix != "" && c.GroupsClaim == "" {
			v.wrong = append(v.wrong, field.Forbidden(at.Child("groupsPrefix"), "needs groupsClaim"))
		}
	}
}

func validateProxy(v *validator, path *field.Path, c ProxyConfiguration) {
	validateNames(v, path.Child("allowedNames"), c.AllowedNames)
	validateHeaders(v, path.Child("userHeaders"), c.UserHeaders)
	validateHeaders(v, path.Child("groupHeaders"), c.GroupHeaders)
	switch {
	case c.ClientCAFile == "" && len(c.AllowedNames) > 0:
		v.wrong = append(v.wrong, field.Required(path.Child("clientCAFile"), "must be set with allowedNames"))
	case c.ClientCAFile != "" && len(c.AllowedNames) == 0:
		v.wrong = append(v.wrong, field.Required(path.Child("allowedNames"),
			"must have the common name of the proxy's certificate"))
	}
	if c.ClientCAFile != "" && len(c.UserHeaders) == 0 {
		v.wrong = append(v.wrong,
			field.Required(path.Child("userHeaders"), "must have a header, such as X-Forwarded-User"))
	}
}

func validateNames(v *validator, path *field.Path, names []string) {
	if len(names) > maxList {
		v.wrong = append(v.wrong, field.TooMany(path, len(names), maxList))
	}
	v.each(path, names, func(at *field.Path, name string) {
		if name == "" {
			v.invalid(at, name, "must be the common name of a certificate")
		}
	})
}

// otherUse are headers that have a use of their own.
var otherUse = []string{"authorization", "host", "cookie", "connection", "content-length", "transfer-encoding"}

func validateHeaders(v *validator, path *field.Path, names []string) {
	if len(names) > maxList {
		v.wrong = append(v.wrong, field.TooMany(path, len(names), maxList))
	}
	v.each(path, names, func(at *field.Path, name string) {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			v.invalid(at, name, "must be the name of a header, such as X-Forwarded-User")
		case slices.Contains(otherUse, strings.ToLower(name)):
			v.invalid(at, name, "must not be a header with another use")
		}
	})
}

func validateAggregation(v *validator, path *field.Path, c AggregationConfiguration) {
	validateNames(v, path.Child("allowedNames"), c.AllowedNames)
	if c.Address == "" {
		for name, set := range map[string]bool{
			"secret": c.Secret != "", "tls": c.TLS != TLSConfiguration{}, "frontProxy": c.FrontProxy,
		} {
			if set {
				v.wrong = append(v.wrong, field.Required(path.Child("address"), "must be set with "+name))
			}
		}
		return
	}
	v.address(path.Child("address"), c.Address)
	switch {
	case c.Secret != "" && c.TLS != TLSConfiguration{}:
		v.wrong = append(v.wrong, field.Forbidden(path.Child("tls"), "must not be set with secret"))
	case c.Secret != "":
		v.label(path.Child("secret"), c.Secret)
	case c.TLS.CertFile == "" || c.TLS.KeyFile == "":
		v.wrong = append(v.wrong, field.Required(path.Child("tls"), "must have certFile and keyFile, or set secret"))
	case c.TLS.ClientCAFile == "" && !c.FrontProxy:
		v.wrong = append(v.wrong, field.Required(path.Child("tls", "clientCAFile"),
			"must be set, or frontProxy: no client would be known"))
	}
}
