// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"io"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
)

// UpstreamTests builds Kubernetes' own end-to-end tests in the newest version, if the cache lacks
// them. It returns the path of the program, e2e.test. progress gets lines about the build; nil means
// none.
func UpstreamTests(ctx context.Context, progress io.Writer) (string, error) {
	const name = "e2e.test"
	if progress == nil {
		progress = io.Discard
	}
	paths, err := build.Programs(ctx, Versions()[0], []string{name}, progress)
	return paths[name], err
}
