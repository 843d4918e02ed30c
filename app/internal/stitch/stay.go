// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"strings"
	"time"
)

// slack is by how much work on a Pod may seem to end before what caused it: a
// write's time is that of its arrival, often.
const slack = time.Second

// stayOf returns the reconciliation of a Pod that n is part of: the UID says of
// which Pod, and what n does says of which of its reconciliations, or when where
// several would do. Work on a Pod outside its reconciliations is a kubelet's
// looking round.
func (s *Stitcher) stayOf(n *node, pod string) (stay, bool) {
	e := s.entries[identity{byPod, pod}]
	if e == nil || len(e.stays) == 0 {
		return stay{}, false
	}
	switch {
	case begins(n):
		for _, st := range e.stays {
			if !st.deletion {
				return st, true
			}
		}
	case ends(n):
		if st, ok := then(e.stays, n, true); ok {
			return st, true
		}
		if st, ok := then(e.stays, n, false); ok {
			return st, true // it has ended by itself, or was evicted
		}
		for _, st := range e.stays {
			if st.deletion && syncs(n.span.Name) {
				return st, true // a Pod is deleted once
			}
		}
	default:
		return then(e.stays, n, false)
	}
	return stay{}, false
}

// then returns the last of stays that was open while n was.
func then(stays []stay, n *node, deletion bool) (found stay, ok bool) {
	for _, st := range stays {
		if st.deletion != deletion || n.span.End.Before(st.start.Add(-slack)) || !st.end.IsZero() &&
			n.span.Start.After(st.end) {
			continue
		}
		found, ok = st, true
	}
	return found, ok
}

// begins reports whether n is of a Pod's beginning, which it has but once.
func begins(n *node) bool {
	if n.span.Name == "syncPod" {
		return text(n.span.Attributes, keyUpdateType) == "create"
	}
	name := text(n.span.Attributes, keyContainerName)
	if name == "" {
		name = text(n.span.Attributes, keySandboxName)
	}
	_, attempt, ok := podOf(name)
	return ok && attempt == "0"
}

// ends reports whether n is of a Pod's end.
func ends(n *node) bool {
	name := n.span.Name
	if name == "syncTerminatingPod" || name == "syncTerminatedPod" {
		return true
	}
	switch method(claimant(n).span.Name) {
	case "StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox":
		return true
	}
	return false
}

// method is the last part of a gRPC method's name.
func method(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
