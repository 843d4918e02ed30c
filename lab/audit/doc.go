// SPDX-License-Identifier: Apache-2.0

// Package audit reads the audit log of an API server as an oracle: the stored
// writes of each object. Tests compare traces with it.
//
// It skips requests that stored nothing: reads, refused requests, dry runs, reviews, token requests and connections
// (exec, attach, port-forward, proxy). It also skips writes without a change, and writes to an aggregated API, whose
// responses are not logged. A write without a change has a response with the resourceVersion of an earlier write of the
// object. Of two such requests, the one with the earlier response counts as the write.
//
// The log must contain the responses: its policy must log writes at level
// RequestResponse, as the lab's policy does.
package audit
