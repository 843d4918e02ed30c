// SPDX-License-Identifier: Apache-2.0

package upstream

import "regexp"

// fault is a known fault, or a limit of the sources.
type fault struct {
	// in matches the text of the fault, for the server of that name; "" means each.
	in     *regexp.Regexp
	server string
	// reason is an item of the page, wrapped.
	reason string
}

// known are the tolerated faults. They are counted in docs/accuracy.md.
var known = []fault{
	{
		in: regexp.MustCompile(`EndpointSlice endpointslicemirroring-`),
		reason: "The cause of a mirrored EndpointSlice's deletion is a write to Endpoints, which no server\n" +
			"  watches.",
	},
	{
		in: regexp.MustCompile(`deployment-\d+/webserver\b`),
		reason: "A rollback by the annotation `deprecated.deployment.rollback.to`: the request is a step of the\n" +
			"  change before it, and the controller's write leaves no field manager.",
	},
	{
		in: regexp.MustCompile(`controllerrevisions-\d+/`), server: metadata,
		reason: "At Metadata, a deletion of a collection names no objects, so its user is unknown.",
	},
	{
		in: regexp.MustCompile(`\b(foo[a-z0-9]{6}|e2e-test-crd-)`), server: killed,
		reason: "A custom resource that was created while the server was down is in no trace, if its definition\n" +
			"  is gone at the next start.",
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
