// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// PipelineRun is the kind PipelineRun of Tekton.
var PipelineRun = Kind{
	Kind:     object.Kind{Group: groupTekton, Version: "v1", Kind: "PipelineRun"},
	Resource: "pipelineruns",
	Short:    "pr",
	Owner:    true,
	Progress: true,
}
