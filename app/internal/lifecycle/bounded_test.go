// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestBounded runs an engine for two days of a cluster in which all objects come and go. The state
// at the end is not larger than after the first hours.
func TestBounded(t *testing.T) {
	s := newStory()
	e := New(Options{Cluster: "test"})
	told := 0
	tell := func(now time.Time) {
		for ; told < len(s.seen); told++ {
			s.seen[told].Seen = now
			e.Observe(s.seen[told])
		}
	}
	size := func() string {
		things, versions, active := 0, 0, 0
		for uid, t := range e.index.Objects() {
			things += len(e.index.View().Claiming(uid))
			versions += len(t.Versions) + len(t.Events) + len(t.Requests())
		}
		for g := range e.groups.all {
			active += len(g.members)
		}
		return fmt.Sprintf(
			"%d objects with %d versions, %d active, %d dependants, %d taken, %d runs, %d refused, %d "+
				"nodes, %d late",
			len(e.index.Objects()),
			versions,
			active,
			things,
			len(e.memory.taken),
			len(e.index.Runs()),
			len(e.index.Refused()),
			len(e.index.Nodes()),
			len(e.late.facts),
		)
	}
	s.write("lock", ofKind("", "ConfigMap"), func(st *observation.State) { st.Reconciled = false })
	s.write("stuck", deployment(1))
	s.write("stuck", deleting, func(st *observation.State) { st.Finalizers = []string{"never"} })
	s.write("twin", deployment(0))
	s.write("twin", arrived)
	var early string
	for minute := range 48 * 60 {
		now := epoch.Add(time.Duration(minute) * time.Minute)
		name := fmt.Sprintf("web-%d", minute)
		s.write("lock", func(st *observation.State) { st.Desired++ })
		s.write(name, deployment(0))
		s.write(name+"-rs", replicaSet(name, 0))
		s.write(name+"-rs", arrived)
		s.write(name, arrived)
		s.write(
			"node-"+name,
			ofKind("", "Node"),
			func(st *observation.State) { st.Node = &observation.Node{Zone: "z"} },
		)
		stranger := object.Ref{Kind: object.Kind{Version: "v1", Kind: "Node"}, Name: "node", UID: "node"}
		for _, uid := range []types.UID{"node", "", types.UID(name + "-never-seen")} {
			stranger.UID = uid
			s.emit(observation.Observation{
				Event: &observation.Event{ResourceVersion: s.rv, Regarding: stranger, Time: now},
			})
		}
		s.emit(observation.Observation{
			Write: &observation.Write{Verb: "create", Code: 403, AuditID: name, Start: now, End: now},
		})
		run := fmt.Sprintf("%032x", minute+1)
		s.emit(observation.Observation{
			Write: &observation.Write{
				Verb:        "create",
				Code:        403,
				TraceParent: "00-" + run + "-0000000000000001-01",
				Start:       now,
				End:         now,
			},
		})
		s.emit(observation.Observation{
			Run: &observation.Run{TraceParent: "00-" + run + "-00000000000000ff-01", Start: now, End: now},
		})
		tell(now)
		e.Take(now.Add(20 * time.Second))
		for _, gone := range []string{name, name + "-rs", "node-" + name} {
			s.gone(gone)
		}
		tell(now.Add(30 * time.Second))
		e.Take(now.Add(50 * time.Second))
		e.Amendments()
		s.seen, told = nil, 0
		// Old data is removed at every fifth look, so twice in five minutes.
		if minute == 3*60+4 {
			early = size()
		}
	}
	if late := size(); late != early {
		t.Errorf("after three hours: %s\nafter two days:    %s", early, late)
	}
}
