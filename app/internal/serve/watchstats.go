// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// connected reports whether any watch is connected.
func connected(stats watch.Stats) bool {
	for _, r := range stats.Resources {
		if r.Connected > 0 {
			return true
		}
	}
	return false
}

// public is the resource that each ServiceAccount may watch, since Kubernetes 1.37: the ClusterRole
// system:cluster-trust-bundle-discovery has it. It says nothing about the rights of a server.
var public = schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}

// blind reports whether there are resources to watch and all are forbidden.
func blind(stats watch.Stats) bool {
	streams, unreadable := 0, 0
	for _, r := range stats.Resources {
		if r.Resource == public {
			continue
		}
		streams += r.Streams
		unreadable += r.Unreadable
	}
	return streams > 0 && streams == unreadable
}

// outage is the time since the API server's last sign of life; 0 without a right to watch anything.
// Without a connected watch it starts at the end of the last one. A hung API server keeps watches
// connected for a while, so silence counts as well.
func outage(stats watch.Stats, now time.Time) time.Duration {
	var last time.Time
	connected := false
	for _, r := range stats.Resources {
		connected = connected || r.Connected > 0
		if r.Behind.After(last) {
			last = r.Behind
		}
	}
	switch heard := stats.Heard; {
	case connected:
		last = heard
	case !heard.IsZero() && heard.Before(last):
		last = heard
	}
	if last.IsZero() {
		return 0
	}
	return max(0, now.Sub(last))
}
