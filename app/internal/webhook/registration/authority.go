// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxCA bounds a CA bundle. Every reader of the configuration, and each API server, receives all of
// it.
const maxCA = 256 << 10

// ReadCA reads a CA bundle in PEM from a file.
func ReadCA(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities (--ca-file): %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCA+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities (--ca-file): %w", err)
	}
	if err := checkCA(text); err != nil {
		return nil, fmt.Errorf("cannot use %.200q as authorities (--ca-file): %w", path, err)
	}
	return text, nil
}

// checkCA rejects PEM blocks other than certificates: a private key among them would become public.
func checkCA(text []byte) error {
	if len(text) > maxCA {
		return fmt.Errorf("it has more than %d KiB", maxCA>>10)
	}
	n := 0
	for rest := text; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it has a %.40q beside certificates; the configuration is public, so give the "+
				"certificates alone", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("its certificate %d cannot be read: %w", n+1, err)
		}
	}
	if n == 0 {
		return errors.New("it has no certificate in PEM")
	}
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		return errors.New("it has a private key that cannot be read; the configuration is public, so give the " +
			"certificates alone")
	}
	return nil
}
