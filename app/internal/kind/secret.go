// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Secret is the kind Secret.
var Secret = Kind{
	Kind:         object.Kind{Version: "v1", Kind: "Secret"},
	Recalled:     true,
	Resource:     "secrets",
	MetadataOnly: true,
}
