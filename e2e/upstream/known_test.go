// SPDX-License-Identifier: Apache-2.0

package upstream

import "regexp"

// fault is a known fault, or what cannot be otherwise.
type fault struct {
	// in matches the text of the fault, for the server of that name; "" means each.
	in     *regexp.Regexp
	server string
	reason string
}

// known are the tolerated faults. They are counted in docs/accuracy.md.
var known = []fault{
	{
		in:     regexp.MustCompile(`endpointslicemirroring-controller`),
		reason: "The cause of a mirrored EndpointSlice's deletion is a write to Endpoints, which no server watches.",
	},
	{
		in:     regexp.MustCompile(`root-ca-cert-publisher update configmaps`),
		reason: "A controller's correction of a ConfigMap without an owner is in no trace.",
	},
	{
		in: regexp.MustCompile(`deployment-\d+/webserver\b`),
		reason: "A rollback by the annotation `deprecated.deployment.rollback.to`: the request is a step of the " +
			"change before it, and the controller's write leaves no field manager.",
	},
	{
		in: regexp.MustCompile(`controllerrevisions-\d+/`), server: metadata,
		reason: "At Metadata, a deletion of a collection names no objects, so its user is unknown.",
	},
	{
		in: regexp.MustCompile(`e2e-test-crd-`), server: killed,
		reason: "A custom resource is in no trace if its definition, its creation and its deletion fall into one gap.",
	},
}

// isKnown reports whether a fault of a server is a known one.
func isKnown(server, text string) bool {
	for _, f := range known {
		if (f.server == "" || f.server == server) && f.in.MatchString(text) {
			return true
		}
	}
	return false
}
