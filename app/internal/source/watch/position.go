// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Position is the position of one stream of a Watcher. A later Watcher of the same cluster can
// resume from it (Config.Resume). The zero value means no position.
type Position struct {
	// Resource is the watched resource. Its version is not part of the stream's key, because the
	// API server may prefer another one later.
	Resource schema.GroupVersionResource
	// Namespace and Name are empty where the stream is not limited to one.
	Namespace, Name string
	// Version is the resourceVersion up to which everything was emitted. Empty means that the
	// resource is gone and no stream can resume.
	Version string
}

// Key identifies the stream in all its positions and in every process:
// "deployments.apps/default/web". A part without a limit is empty.
func (p Position) Key() string {
	return p.Resource.GroupResource().String() + "/" + p.Namespace + "/" + p.Name
}

// String returns the position in a stable text form for ParsePosition:
// group/version/resource/namespace/name/resourceVersion.
func (p Position) String() string {
	r := p.Resource
	return strings.Join([]string{r.Group, r.Version, r.Resource, p.Namespace, p.Name, p.Version}, "/")
}

// ParsePosition parses the output of String. An error contains the text.
func ParsePosition(text string) (Position, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 6 || parts[1] == "" || parts[2] == "" || parts[5] == "" {
		return Position{}, fmt.Errorf(
			"cannot read %.200q as the position of a watch: want group/version/resource/namespace/name/resourceVersion",
			text,
		)
	}
	return Position{
		Resource:  schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]},
		Namespace: parts[3], Name: parts[4], Version: parts[5],
	}, nil
}

// key returns the key of the stream.
func (p Position) key() key {
	return key{GroupResource: p.Resource.GroupResource(), namespace: p.Namespace, name: p.Name}
}
