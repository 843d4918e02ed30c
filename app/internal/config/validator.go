// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validator collects errors.
type validator struct{ wrong field.ErrorList }

func (v *validator) invalid(path *field.Path, value any, detail string) {
	if text, ok := value.(string); ok {
		value = shorten(text)
	}
	v.wrong = append(v.wrong, field.Invalid(path, value, detail))
}

func (v *validator) oneOf(path *field.Path, value string, allowed ...string) {
	switch {
	case value == "":
		v.wrong = append(v.wrong, field.Required(path, "must be "+strings.Join(allowed, ", ")))
	case !slices.Contains(allowed, value):
		v.wrong = append(v.wrong, field.NotSupported(path, shorten(value), allowed))
	}
}

func (v *validator) between(path *field.Path, value, least, most int) {
	if value < least || value > most {
		v.invalid(path, value, fmt.Sprintf("must be between %d and %d", least, most))
	}
}

// each checks the elements of a list, which must be unique.
func (v *validator) each(path *field.Path, values []string, check func(*field.Path, string)) {
	seen := map[string]bool{}
	for i, value := range values {
		if seen[value] {
			v.wrong = append(v.wrong, field.Duplicate(path.Index(i), shorten(value)))
			continue
		}
		seen[value] = true
		check(path.Index(i), value)
	}
}

func (v *validator) label(path *field.Path, value string) {
	if len(validation.IsDNS1123Label(value)) > 0 {
		v.invalid(path, value, "must be a DNS label: at most 63 small letters, digits and '-', with a letter or "+
			"digit at both ends")
	}
}

// maxLabels bounds the field labels.
const maxLabels = 16

// labels checks keys of labels.
func (v *validator) labels(path *field.Path, keys []string) {
	if len(keys) > maxLabels {
		v.wrong = append(v.wrong, field.TooMany(path, len(keys), maxLabels))
	}
	v.each(path, keys, func(at *field.Path, key string) {
		if len(validation.IsQualifiedName(key)) > 0 {
			v.invalid(at, key, "must be the key of a label, such as app or app.kubernetes.io/name")
		}
	})
}

// address checks a listening address.
func (v *validator) address(path *field.Path, value string) {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		v.invalid(path, value, "must be host:port, such as 127.0.0.1:7070 or [::1]:7070")
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		v.invalid(path, value, "must have a port between 0 and 65535")
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil &&
		len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 {
		v.invalid(path, value, "must have an IP address or a name as its host, or no host")
	}
}

// anyPort reports whether an address lets the system choose the port.
func anyPort(address string) bool {
	_, port, _ := net.SplitHostPort(address)
	return port == "0"
}

// loopback reports whether an address is reachable from the same machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host)
	return err != nil || host == "localhost" || ip.IsLoopback() // another check reports invalid addresses
}

// onLoopback returns the loopback address with the same port.
func onLoopback(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return net.JoinHostPort("127.0.0.1", port)
}

// endpoint checks the destination of spans. Errors do not repeat the value, because it may hold a
// password.
func (v *validator) endpoint(path *field.Path, value string) {
	if value == "" {
		return
	}
	if !strings.Contains(value, "://") {
		if host, port, err := net.SplitHostPort(value); err != nil || host == "" || port == "" {
			v.invalid(path, "…", "must be a URL or host:port, such as http://otel-collector:4317")
			return
		}
		value = "http://" + value
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		v.invalid(path, "…", "must be a URL or host:port, such as http://otel-collector:4317")
	case !slices.Contains([]string{"http", "https", "grpc", "grpcs"}, u.Scheme):
		v.invalid(path, "…", "must have the scheme http, https, grpc or grpcs")
	case u.Hostname() == "":
		v.invalid(path, "…", "must name a host")
	case u.User != nil:
		v.invalid(path, "…", "must not contain credentials, which would not be sent: set OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		v.invalid(path, "…", "must not contain a query or fragment, which would not be sent")
	}
}
