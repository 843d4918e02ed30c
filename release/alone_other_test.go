// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func runAlone(t *testing.T, _ string, _ v1.Config) string {
	t.Helper()
	t.Skip("images are for Linux")
	return ""
}
