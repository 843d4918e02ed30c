// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots returns Mozilla's root certificates in PEM. A root that is trusted only for certificates of before some day
// is not among them: a file of PEM cannot say the day.
func roots() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return text.Bytes()
}
