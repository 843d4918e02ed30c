// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"strings"
	"time"
)

// slack is the apparent time by which work on a Pod may end before its cause. The time of a write
// is often that of its arrival.
const slack = time.Second

// stayOf returns the reconciliation of a Pod to which n belongs. The UID identifies the Pod. The
// kind of work, or else the time, selects the reconciliation. Work outside the reconciliations is
// routine checking by the kubelet. The entry is that of the Pod, or nil.
func (e *entry) stayOf(n *node) (stay, bool) {
	if e == nil || len(e.stays) == 0 {
		return stay{}, false
	}
	switch {
	case n.span.IsAttempt():
		if st, ok := e.scheduledIn(n); ok {
			return st, true
		}
		return then(e.stays, n, false)
	case callsPlugin(n.span):
		if st, _, ok := e.calledIn(n); ok {
			return st, true
		}
		return then(e.stays, n, false)
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
			return st, true // it ended by itself, or by eviction
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

// then returns the last of stays that was open during n.
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

// begins reports whether n belongs to a Pod's start, which occurs once.
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

// ends reports whether n belongs to a Pod's end.
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
