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
		"Argument":   {[]string{"instal"}, `unexpected argument "instal"`},
		"Compare":    {[]string{"compare", "one.json"}, "two files"},
		"NoTrace":    {[]string{"compare", "/nowhere", "/nowhere"}, "cannot open the trace"},
		"Flag":       {[]string{"--schedular", "x"}, "-schedular"},
		"Program":    {[]string{"--scheduler", "/nowhere"}, "cannot find the scheduler, see --scheduler"},
		"Kubeconfig": {[]string{"--scheduler", "true", "--kubeconfig", "/nowhere"}, "cannot load the cluster configuration"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := command(t.Context(), tc.args, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("scheduler-operator %s: want an error with %q, got %v", strings.Join(tc.args, " "), tc.want, err)
			}
		})
	}
}
