// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"io"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
)

// KubectlOf builds the kubectl of a minor version, one of Versions, if the cache lacks it. It returns
// the path of the program. progress gets lines about the build; nil means none.
func KubectlOf(ctx context.Context, version string, progress io.Writer) (string, error) {
	const name = "kubectl"
	if progress == nil {
		progress = io.Discard
	}
	paths, err := build.Programs(ctx, version, []string{name}, progress)
	return paths[name], err
}
