// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// unordered are kinds of recordings with writes in an order that only the arrival shows: in one second,
// two changes of the owner, or a deletion and the status of the owner that shows it; in that of the
// DaemonSet, the deletion of a Pod four seconds before the removal of its owner, which has no timestamp.
var unordered = map[string]string{
	"argo-cd.kwok.jsonl.gz":    "ReplicaSet",
	"daemon-set.kwok.jsonl.gz": "Pod",
	"job.kwok.jsonl.gz":        "Pod", "parts.kwok.jsonl.gz": "ReplicaSet",
	"rollout.real.jsonl.gz": "Pod", "several-people.kwok.jsonl.gz": "Pod", "storage.kwok.jsonl.gz": "Pod",
}

// TestStorages moves one kind of each recording to a separate storage, as for an aggregated API.
// The trees stay the same.
func TestStorages(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recorded := read(t, path)
			want := shapes(recorded)
			for _, kind := range []string{kind.ReplicaSet.Kind.Kind, "Event", kind.Pod.Kind.Kind, kind.Job.Kind.Kind} {
				if unordered[filepath.Base(path)] == kind || testing.Short() && kind != "ReplicaSet" {
					continue
				}
				if diff := cmp.Diff(want, shapes(apart(recorded, kind))); diff != "" {
					t.Errorf("%ss in a storage of their own give other trees (-without +with):\n%s", kind, diff)
				}
			}
		})
	}
}

var ids = regexp.MustCompile(`trace \w+, span \w+ `)

// shapes is edges without IDs, because the resourceVersion is part of some.
func shapes(seen []*observation.Observation) string {
	lines := edges(seen)
	for i := range lines {
		lines[i] = ids.ReplaceAllString(lines[i], "")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// apart returns the recording with the objects of a kind in a storage of their own. Their versions have
// the numbers from 1 on, and their place in the order of arrival, as from the watch.
func apart(recorded []*observation.Observation, of string) []*observation.Observation {
	versions := map[uint64]uint64{}
	for _, o := range recorded {
		if rv, is := versionOf(o); is == of {
			versions[rv] = 0
		}
	}
	all := make([]uint64, 0, len(versions))
	for rv := range versions {
		all = append(all, rv)
	}
	slices.Sort(all)
	for i, rv := range all {
		versions[rv] = uint64(i + 1)
	}
	reached, last := uint64(1), uint64(0)
	order := func() uint64 {
		last = max(reached, last) + 1
		return last
	}
	out := make([]*observation.Observation, len(recorded))
	for i, o := range recorded {
		moved := *o
		out[i] = &moved
		rv, is := versionOf(o)
		if is != of {
			if o.Write == nil || o.Write.Kind.Kind != of {
				reached = max(reached, rv)
				continue
			}
		}
		switch {
		case o.State != nil:
			st := *o.State
			st.ResourceVersion, st.Order = versions[rv], order()
			moved.State = &st
		case o.Gone != nil:
			gone := *o.Gone
			gone.ResourceVersion, gone.Order = versions[rv], order()
			moved.Gone = &gone
		case o.Event != nil:
			ev := *o.Event
			ev.ResourceVersion, ev.Order = versions[rv], reached+1
			moved.Event = &ev
		case o.Write != nil:
			w := *o.Write
			w.ResourceVersion, w.Precondition = versions[w.ResourceVersion], versions[w.Precondition]
			moved.Write = &w
		}
	}
	return out
}

// versionOf returns the resourceVersion of an object or Event, and its kind; "" for other observations.
func versionOf(o *observation.Observation) (uint64, string) {
	switch {
	case o.State != nil:
		return o.State.ResourceVersion, o.State.Kind.Kind
	case o.Gone != nil:
		return o.Gone.ResourceVersion, o.Gone.Kind.Kind
	case o.Event != nil:
		return o.Event.ResourceVersion, "Event"
	}
	return 0, ""
}
