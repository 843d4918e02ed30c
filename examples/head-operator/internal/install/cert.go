// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
)

// GenerateCert writes tls.crt and tls.key for a webhook at base, https://HOST:PORT, to dir. It
// creates dir if necessary. It returns the PEM of the certificate authority, which is new, and
// discards the authority's key. The certificate is valid for a year.
func GenerateCert(base, dir string) ([]byte, error) {
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(u.Hostname(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate for %s: %w", u.Hostname(), err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the certificate directory: %w", err)
	}
	for name, text := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("cannot write the certificate: %w", err)
		}
	}
	return chain, nil
}
