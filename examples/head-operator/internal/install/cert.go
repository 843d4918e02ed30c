// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
)

// GenerateCert writes tls.crt and tls.key for a webhook at base,
// https://HOST:PORT, to a directory, which it makes if there is none, and
// returns the PEM to verify them by. The authority is a fresh one whose key is
// thrown away; the certificate is good for a year.
func GenerateCert(base, dir string) ([]byte, error) {
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(u.Hostname(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for %s: %w", u.Hostname(), err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory for the certificate: %w", err)
	}
	for name, text := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("cannot write the certificate: %w", err)
		}
	}
	return chain, nil
}
