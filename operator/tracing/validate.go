// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

// Validate returns the errors in configuration, with the path of each field below path. A nil path
// means that the configuration is the document. A nil configuration is valid.
//
// It rejects everything that Kubernetes rejects: rates outside 0…1,000,000, and endpoints that are
// not gRPC targets or have a scheme other than dns, unix and unix-abstract. It also rejects
// endpoints that Kubernetes accepts although they can never work. These are empty endpoints,
// invalid ports, a path after the port, and a dns: or unix: target without a host or socket.
func Validate(configuration *tracingapi.TracingConfiguration, path *field.Path) field.ErrorList {
	errs := tracingapi.ValidateTracingConfiguration(configuration, nil, path)
	if configuration == nil || configuration.Endpoint == nil {
		return errs
	}
	at, known := path.Child("endpoint"), false
	for _, err := range errs {
		if err.Field == at.String() {
			err.BadValue = *configuration.Endpoint // the original text, without the added dns://
			known = true
		}
	}
	if wrong := unreachable(*configuration.Endpoint); wrong != "" && !known {
		errs = append(errs, field.Invalid(at, *configuration.Endpoint, wrong))
	}
	return errs
}

// unreachable returns why gRPC could never connect to endpoint, or "". See
// https://github.com/grpc/grpc/blob/master/doc/naming.md.
func unreachable(endpoint string) string {
	if endpoint == "" {
		return "must not be empty; leave it out for localhost:4317"
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return badAddress(endpoint) // 127.0.0.1:4317, for example, is not a URL
	}
	switch name := strings.TrimPrefix(u.Path+u.Opaque, "/"); u.Scheme {
	case "unix", "unix-abstract":
		if u.Host != "" || name == "" {
			return "must name a socket: " + u.Scheme + ":///name"
		}
	case "dns":
		if name == "" {
			return "must name a host behind the authority: dns:///host:port"
		}
		return badAddress(name)
	default:
		return badAddress(endpoint)
	}
	return ""
}

// badAddress returns the error in a host:port, or "". Without a port, gRPC uses 443.
func badAddress(address string) string {
	if strings.ContainsAny(address, "/?#@ ") {
		return "must be host:port, with nothing behind it"
	}
	if net.ParseIP(address) != nil {
		return ""
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		if _, port, err = net.SplitHostPort(address + ":443"); err != nil {
			return "must be host:port"
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "port must be a number from 1 to 65535"
	}
	return ""
}
