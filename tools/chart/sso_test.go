// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSSO: the chart accepts the values of the guide for single sign-on, and its server accepts oauth2-proxy alone.
func TestSSO(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/guides/sso.md")
	if err != nil {
		t.Fatal(err)
	}
	_, values, found := strings.Cut(string(text), "```yaml\n# lifeline.yaml")
	values, _, ended := strings.Cut(values, "```\n")
	if !found || !ended {
		t.Fatal("the guide has no values")
	}
	objects, out := renderedWith(t, "# "+values)
	if !slices.Contains(objects, "NetworkPolicy/lifeline") {
		t.Errorf("the objects are %q", objects)
	}
	for _, want := range []string{
		"authorization: kubernetes", "issuer: https://sso.example.com", "groupsPrefix: 'sso:'",
		"app.kubernetes.io/name: oauth2-proxy", "secretName: lifeline-api-tls", "certFile: /etc/lifeline-api/tls.crt",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the rendered chart lacks %q", want)
		}
	}
	if strings.Contains(out, "tokenFile: /etc/lifeline-api/token") {
		t.Error("the server wants a token that every user would share")
	}
}
