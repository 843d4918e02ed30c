// SPDX-License-Identifier: Apache-2.0

package normalize

import "testing"

// TestStatusDigest: the digest of the fields of a status is that of the decoded fields.
func TestStatusDigest(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"a Pod": {`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},` +
			`"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.0.7\"}":{".":{},"f:ip":{}}}}}`, true},
		"nothing":           {`{"f:status":{}}`, true},
		"another order":     {`{"f:status":{"f:b":{},"f:a":{}}}`, false},
		"a key twice":       {`{"f:status":{"f:a":{},"f:a":{}}}`, false},
		"other fields":      {`{"f:status":{"f:a":{}},"f:spec":{}}`, false},
		"fields before it":  {`{"f:metadata":{},"f:status":{"f:a":{}}}`, false},
		"a value":           {`{"f:status":{"f:a":1}}`, false},
		"a blank":           {`{"f:status": {}}`, false},
		"more after it":     {`{"f:status":{}}{}`, false},
		"the end is absent": {`{"f:status":{"f:a":{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &digest{k0: 1, k1: 2}
			sum, ok := d.status(tt.text)
			if ok != tt.want || len(d.form) > 0 {
				t.Fatalf("digested directly: %t, want %t; %d bytes of another form are left", ok, tt.want, len(d.form))
			}
			if want := managedBy(parseManaged(tt.text), d); ok && (sum != want.digest || want.fields != nil) {
				t.Errorf("digest %x, want %x of %v", sum, want.digest, want.fields)
			}
		})
	}
}
