// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRefused checks that invalid arguments are reported before any connection.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"Argument": {[]string{"installl"}, `unexpected argument "installl"`},
		"Flag":     {[]string{"--webhok-port", "1"}, "-webhok-port"},
		"URLAlone": {[]string{"install", "--webhook-url", "https://h:1"}, "--ca-file or --generate-cert"},
		"CAAlone":  {[]string{"install", "--ca-file", "ca.pem"}, "--webhook-url"},
		"TwoAuthorities": {
			[]string{"install", "--webhook-url", "https://h:1", "--ca-file", "a", "--generate-cert", "b"},
			"--ca-file and --generate-cert",
		},
		"Kubeconfig": {[]string{"--kubeconfig", "/nowhere"}, "cannot load the cluster configuration"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := command(t.Context(), tc.args, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("head-operator %s: want an error with %q, got %v", strings.Join(tc.args, " "), tc.want, err)
			}
		})
	}
}
