// SPDX-License-Identifier: Apache-2.0

package export

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// checks report values that OpenTelemetry's clients would log and ignore. Here they are errors:
// spans sent without the requested header or certificate would be lost or exposed.
var checks = map[string]func(value string) error{
	"COMPRESSION": checkCompression,
	"TIMEOUT":     checkTimeout,
	"HEADERS":     checkHeaders,
	"CERTIFICATE": checkCertificate,
}

// checkEnvironment reads the variables that the clients will read. Its error names the variable
// that is unusable for this target.
func checkEnvironment(to *target) error {
	if to.clear {
		for _, suffix := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE"} {
			if name, _ := firstEnv("TRACES_"+suffix, suffix); name != "" {
				return fmt.Errorf("%s asks for TLS, but %s says plain text (%s): use https:// or grpcs://", name,
					to.origin, to.name)
			}
		}
	}
	for suffix, check := range checks {
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
			if value := env(prefix + suffix); value != "" {
				if err := check(value); err != nil {
					return fmt.Errorf("%s cannot be used: %w", prefix+suffix, err)
				}
			}
		}
	}
	return errors.Join(checkKeyPair("OTEL_EXPORTER_OTLP_"), checkKeyPair("OTEL_EXPORTER_OTLP_TRACES_"))
}

func checkCompression(value string) error {
	if value != "gzip" && value != "none" {
		return fmt.Errorf("%q is neither gzip nor none", printable(value))
	}
	return nil
}

func checkTimeout(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return fmt.Errorf("%q is no number of milliseconds", printable(value))
	}
	return nil
}

// checkHeaders repeats no value in its errors, because values are credentials.
func checkHeaders(value string) error {
	for i, header := range strings.Split(value, ",") {
		name, text, found := strings.Cut(header, "=")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t:\"") {
			return fmt.Errorf("header %d is not of the form name=value", i+1)
		}
		if _, err := url.PathUnescape(text); err != nil {
			return fmt.Errorf("the value of header %s is not percent-encoded text", printable(name))
		}
	}
	return nil
}

func checkCertificate(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no PEM certificate", printable(file))
	}
	return nil
}

func checkKeyPair(prefix string) error {
	cert, key := env(prefix+"CLIENT_CERTIFICATE"), env(prefix+"CLIENT_KEY")
	if cert == "" && key == "" {
		return nil
	}
	if cert == "" || key == "" {
		return fmt.Errorf("%sCLIENT_CERTIFICATE and %[1]sCLIENT_KEY are of use only together", prefix)
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("%sCLIENT_CERTIFICATE and %[1]sCLIENT_KEY cannot be used: %w", prefix, err)
	}
	return nil
}
