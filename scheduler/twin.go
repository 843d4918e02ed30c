// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"reflect"
	"unsafe"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// twin is a copy of a profile's framework in which each plugin is wrapped. It runs the code of the
// original on the same plugin instances; only the lists of plugins differ. It serves one attempt at
// a time.
type twin struct {
	framework.Framework
	// attempt is the one that the twin serves now.
	attempt *attempt
	// calls are the plugins in the order of extension points and of the configuration. at are those of
	// each point.
	calls []*call
	at    [points][]*call
	// filters are the indices of the calls of Filter by plugin. All twins of a profile share them.
	filters map[string]int
	// scores is reused memory of the attempt.
	scores []fwk.NodePluginScores
}

// newTwin copies the framework of a profile. like is another twin of the profile, or nil for the
// first one. It returns an error if the framework is not that of the Kubernetes version that this
// module requires.
func newTwin(original framework.Framework, like *twin) (*twin, error) {
	of := reflect.ValueOf(original)
	if of.Kind() != reflect.Pointer || of.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("cannot wrap the plugins of profile %s: its framework is a %T, not that of Kubernetes",
			original.ProfileName(), original)
	}
	copied := reflect.New(of.Elem().Type())
	copied.Elem().Set(of.Elem())
	same, ok := copied.Interface().(framework.Framework)
	if !ok {
		return nil, fmt.Errorf("cannot copy the framework of profile %s: %s is no framework",
			original.ProfileName(), copied.Type())
	}
	t := &twin{Framework: same}
	f := fields{twin: t, like: like, of: copied.Elem()}
	if like != nil {
		t.filters = like.filters
		t.calls = make([]*call, 0, len(like.calls))
		f.memory = make([]call, len(like.calls)) // side by side, as an attempt visits all of them
	}
	wrap(&f, "preFilterPlugins", func(p fwk.PreFilterPlugin) fwk.PreFilterPlugin {
		return preFilter{p, f.call(pointPreFilter, p)}
	})
	wrap(&f, "filterPlugins", func(p fwk.FilterPlugin) fwk.FilterPlugin {
		return filter{p, f.call(pointFilter, p)}
	})
	wrap(&f, "postFilterPlugins", func(p fwk.PostFilterPlugin) fwk.PostFilterPlugin {
		c := f.call(pointPostFilter, p)
		return postFilter{c.watch(p), c}
	})
	wrap(&f, "preScorePlugins", func(p fwk.PreScorePlugin) fwk.PreScorePlugin {
		return preScore{p, f.call(pointPreScore, p)}
	})
	wrap(&f, "scorePlugins", func(p fwk.ScorePlugin) fwk.ScorePlugin {
		return score{&scoring{p, f.call(pointScore, p)}}
	})
	wrap(&f, "reservePlugins", func(p fwk.ReservePlugin) fwk.ReservePlugin {
		return reserve{p, f.call(pointReserve, p), f.call(pointUnreserve, p)}
	})
	wrap(&f, "permitPlugins", func(p fwk.PermitPlugin) fwk.PermitPlugin {
		return permit{p, f.call(pointPermit, p)}
	})
	wrap(&f, "preBindPlugins", func(p fwk.PreBindPlugin) fwk.PreBindPlugin {
		return preBind{p, f.call(pointPreBind, p)}
	})
	wrap(&f, "bindPlugins", func(p fwk.BindPlugin) fwk.BindPlugin {
		return bind{p, f.call(pointBind, p)}
	})
	wrap(&f, "postBindPlugins", func(p fwk.PostBindPlugin) fwk.PostBindPlugin {
		return postBind{p, f.call(pointPostBind, p)}
	})
	if f.err != nil {
		return nil, fmt.Errorf("cannot wrap the plugins of profile %s: %w", original.ProfileName(), f.err)
	}
	for _, c := range t.calls {
		t.at[c.point] = append(t.at[c.point], c)
	}
	if like == nil {
		t.filters = map[string]int{}
		for i, c := range t.calls {
			if c.point == pointFilter {
				t.filters[c.plugin] = i
			}
		}
	}
	return t, nil
}

// fields are those of a twin's framework.
type fields struct {
	twin *twin
	like *twin // with the same plugins, or nil
	of   reflect.Value
	err  error
	// memory is that of the calls, if their number is known.
	memory []call
}

// call returns a new call of the twin.
func (f *fields) call(at point, p fwk.Plugin) *call {
	var c *call
	if f.like != nil {
		n := len(f.twin.calls)
		c = &f.memory[n]
		c.plugin, c.fixed = f.like.calls[n].plugin, f.like.calls[n].fixed
	} else {
		c = &call{plugin: p.Name(), fixed: fixedPart(at, p.Name())}
	}
	c.point, c.twin = at, f.twin
	f.twin.calls = append(f.twin.calls, c)
	return c
}

// wrap replaces a list of plugins by one of wrapped plugins. Kubernetes has no exported way to do
// that (docs/adr/0006-scheduler-plugins.md).
func wrap[P fwk.Plugin](f *fields, name string, with func(P) P) {
	list, err := field[[]P](f.of, name)
	if err != nil {
		f.err = cmp.Or(f.err, err)
		return
	}
	wrapped := make([]P, len(*list))
	for i, p := range *list {
		wrapped[i] = with(p)
	}
	*list = wrapped
}

// reject records that a plugin rejected a node.
func (t *twin) reject(node string, status *fwk.Status) {
	if i, ok := t.filters[status.Plugin()]; ok {
		t.calls[i].reject(node, status)
	}
}

// field returns a field of a struct of Kubernetes that is not exported.
func field[T any](of reflect.Value, name string) (*T, error) {
	v := of.FieldByName(name)
	if !v.IsValid() || v.Type() != reflect.TypeFor[T]() {
		return nil, fmt.Errorf("%s has no field %s of type %s: use the Kubernetes version that this module requires",
			of.Type(), name, reflect.TypeFor[T]())
	}
	return (*T)(unsafe.Pointer(v.UnsafeAddr())), nil //nolint:gosec // the type is checked above
}

// reset makes the twin ready for another attempt.
func (t *twin) reset() {
	t.attempt = nil
	for _, c := range t.calls {
		c.reset()
	}
	clear(t.scores)
	t.scores = t.scores[:0]
}
