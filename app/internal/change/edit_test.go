// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// versionOf returns a version with fields like "spec.replicas=2". A value after "#" is not shown.
func versionOf(fields string) *history.Version {
	table := &history.Fields{}
	for _, line := range strings.Fields(fields) {
		i := strings.LastIndexAny(line, "=#")
		l := observation.Leaf{Path: line[:i], Managers: 1}
		for _, c := range []byte(line[i+1:]) {
			l.Value = 31*l.Value + uint64(c)
		}
		if line[i] == '=' {
			l.Shown = line[i+1:]
		}
		table.Leaves = append(table.Leaves, l)
	}
	slices.SortFunc(table.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
	return &history.Version{Intent: &history.Intent{Fields: table}}
}

// written returns the writes between the versions.
func written(versions ...string) []*Write {
	var out []*Write
	for i := 1; i < len(versions); i++ {
		w := &Write{Verb: history.Updated, Previous: versionOf(versions[i-1]), Version: versionOf(versions[i])}
		w.Changed = history.Compare(&kind.Deployment, w.Previous, w.Version)
		out = append(out, w)
	}
	return out
}

func TestEdits(t *testing.T) {
	const container = "spec.template.spec.containers[name=web]."
	cases := map[string]struct {
		versions []string
		want     string
	}{
		"image before replicas": {
			[]string{"spec.replicas=2 " + container + "image=web:1", "spec.replicas=4 " + container + "image=web:2"},
			"image web:1 → web:2; replicas 2 → 4",
		},
		"the same repository": {
			[]string{
				container + "image=registry.example:5000/shop/web:1",
				container + "image=registry.example:5000/shop/web@sha256:" + strings.Repeat("ab", 32),
			},
			"image web:1 → web@sha256:abababababab",
		},
		"another registry": {
			[]string{container + "image=a.example/web:1", container + "image=b.example/web:1"},
			"image a.example/web:1 → b.example/web:1",
		},
		"restart": {
			[]string{"spec.replicas=2", "spec.replicas=2 spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]#a"},
			"restarted",
		},
		"restarted again": {
			[]string{
				"spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]#a",
				"spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]#b",
			},
			"restarted",
		},
		"undone restart": {
			[]string{"spec.replicas=2 spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]#a", "spec.replicas=2"},
			"restart undone",
		},
		"two containers": {
			[]string{
				"spec.template.spec.containers[name=a].image=x:1 spec.template.spec.initContainers[name=b].image=y:1",
				"spec.template.spec.containers[name=a].image=x:2 spec.template.spec.initContainers[name=b].image=y:2",
			},
			"image of container a x:1 → x:2; image of init container b y:1 → y:2",
		},
		"no value of a field that is not listed": {
			[]string{container + "env[name=MODE].value#secret", container + "env[name=MODE].value#other"},
			"env MODE",
		},
		"a new variable": {
			[]string{
				"spec.replicas=2",
				"spec.replicas=2 " + container + "env[name=A].name#a " + container + "env[name=A].value#b",
			},
			"env A added",
		},
		"a removed container": {
			[]string{
				container + "image=web:1 spec.template.spec.containers[name=x].name#x " +
					"spec.template.spec.containers[name=x].image=x:1 " +
					"spec.template.spec.containers[name=x].ports[containerPort=80,protocol=TCP].containerPort=80",
				container + "image=web:1",
			},
			"container x removed",
		},
		"labels": {
			[]string{
				"metadata.labels.app=a metadata.labels[example.com/old]=x spec.template.metadata.labels.app=a",
				"metadata.labels.app=b metadata.labels.team=shop spec.template.metadata.labels.app=b",
			},
			"label app a → b; label team <none> → shop; label example.com/old x → <none>; Pod label app a → b",
		},
		"resources and strategy": {
			[]string{
				container + "resources.limits.cpu=1 spec.strategy.rollingUpdate.maxSurge=1 spec.paused=false",
				container + "resources.limits.cpu=2 spec.strategy.rollingUpdate.maxSurge=2 spec.paused=true",
			},
			"paused false → true; maxSurge 1 → 2; limits.cpu 1 → 2",
		},
		"a taint": {
			[]string{
				"spec.unschedulable=false", "spec.unschedulable=true " +
					"spec.taints[key=dedicated,effect=NoSchedule].key=dedicated " +
					"spec.taints[key=dedicated,effect=NoSchedule].effect=NoSchedule",
			},
			"unschedulable false → true; taint dedicated:NoSchedule added",
		},
		"a port": {
			[]string{"spec.ports[name=http].targetPort=80", "spec.ports[name=http].targetPort=8080"},
			"port http targetPort 80 → 8080",
		},
		"a port without a name": {
			[]string{
				"spec.ports[port=80,protocol=TCP].targetPort=80", "spec.ports[port=80,protocol=TCP].targetPort=8080",
			},
			"port 80/TCP targetPort 80 → 8080",
		},
		"the first field in an empty map": {
			[]string{container + "resources#empty", container + "resources.limits.cpu=1"},
			"limits.cpu <none> → 1",
		},
		"several writes are one change": {
			[]string{"spec.replicas=2 spec.a#1", "spec.replicas=3 spec.a#1", "spec.replicas=4 spec.a#2"},
			"replicas 2 → 4; a",
		},
		"there and back": {
			[]string{"spec.replicas=2", "spec.replicas=3", "spec.replicas=2"},
			"replicas",
		},
		"another part of the Pod": {
			[]string{
				"spec.template.spec.terminationGracePeriodSeconds#1",
				"spec.template.spec.terminationGracePeriodSeconds#2",
			},
			"terminationGracePeriodSeconds",
		},
		"an annotation": {
			[]string{"spec.a#1", "spec.a#1 metadata.annotations[example.com/note]#hello"},
			"annotation example.com/note added",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &Reconciliation{Writes: written(c.versions...)}
			if got := strings.Join(r.Edits().Words(), "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestManyEdits changes more fields than a span has.
func TestManyEdits(t *testing.T) {
	var before, after string
	for i := range 40 {
		before += fmt.Sprintf("spec.f%02d=1 ", i)
		after += fmt.Sprintf("spec.f%02d=2 ", i)
	}
	w := written(before, after)[0]
	edits, paths := w.Edits().Words(), w.Edits().Paths()
	if len(edits) != maxFields || edits[0] != "f00 1 → 2" || edits[15] != "(25 more)" {
		t.Errorf("got the edits %q", edits)
	}
	if len(paths) != maxFields || paths[0] != "spec.f00" || paths[15] != "(25 more)" {
		t.Errorf("got the paths %q", paths)
	}
}

// FuzzSteps reads any path without a panic, and keeps its parts.
func FuzzSteps(f *testing.F) {
	for _, path := range []string{
		"spec.replicas", "metadata.labels[example.com/a]", "spec.ports[name=http].port", "a[b", "[", "]", "a..b",
		"(more)",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, s := range steps(path) {
			if !strings.Contains(path, s.name) || !strings.Contains(path, s.key) {
				t.Fatalf("the step %q of %q is made up", s, path)
			}
		}
		_ = named(path)
	})
}
