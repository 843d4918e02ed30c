// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// groupTekton is the API group of Tekton.
const groupTekton = "tekton.dev"

// TaskRun is the kind TaskRun of Tekton.
var TaskRun = Kind{
	Kind:     object.Kind{Group: groupTekton, Version: "v1", Kind: "TaskRun"},
	Resource: "taskruns",
	Short:    "tr",
	Owner:    true,
	Progress: true,
}
