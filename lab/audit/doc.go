// SPDX-License-Identifier: Apache-2.0

// Package audit reads the audit log of an API server as an oracle: the writes
// that were really stored, per object. It is what a trace can be held against.
//
// Left out is what stored nothing: reads, refused requests, dry runs, reviews
// and token requests, connections (exec, attach, port-forward, proxy), and
// writes that changed nothing. The last are told by their answer: each stored
// write gives its object a resourceVersion of its own, so an answer whose
// resourceVersion another write of that object had already is a no-op. Of two
// such requests the one that was answered first counts as the write.
//
// The log must hold the answers: its policy gives writes the level
// RequestResponse, as the lab's does.
package audit
