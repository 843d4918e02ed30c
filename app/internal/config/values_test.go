// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"testing"
)

func TestConfidential(t *testing.T) {
	for path, want := range map[string]bool{
		"spec.template.spec.containers.env":                true,
		"spec.template.spec.containers.env.value":          true,
		"spec.template.spec.initContainers.args":           true,
		"spec.containers.command":                          true,
		"metadata.annotations.example.com/token":           true,
		"spec.template.spec.containers":                    true, // with the environment
		"spec":                                             true,
		"spec.size":                                        false,
		"spec.environment":                                 false,
		"spec.template.spec.containers.image":              false,
		"metadata.labels.app":                              false,
		"spec.template.spec.terminationGracePeriodSeconds": false,
	} {
		c := &ServerConfiguration{ShowValues: []ValuesConfiguration{{Kind: "Deployment", Fields: []string{path}}}}
		if got := slices.Equal(c.Confidential(), []string{"Deployment " + path}); got != want {
			t.Errorf("%s is confidential: %t, want %t", path, got, want)
		}
	}
}
