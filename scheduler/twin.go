// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
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
	// calls are the plugins in the order of extension points and of the configuration.
	calls []*call
	// scores is reused memory of the attempt.
	scores []fwk.NodePluginScores
}

// newTwin copies the framework of a profile. It returns an error if the framework is not that of
// the Kubernetes version that this module requires.
func newTwin(original framework.Framework) (*twin, error) {
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
	f := fields{t, copied.Elem(), nil}
	wrap(&f, "preFilterPlugins", func(p fwk.PreFilterPlugin) fwk.PreFilterPlugin {
		return preFilter{p, f.call(pointPreFilter, p)}
	})
	wrap(&f, "filterPlugins", func(p fwk.FilterPlugin) fwk.FilterPlugin {
		return filter{p, f.call(pointFilter, p)}
	})
	wrap(&f, "postFilterPlugins", func(p fwk.PostFilterPlugin) fwk.PostFilterPlugin {
		return postFilter{p, f.call(pointPostFilter, p)}
	})
	wrap(&f, "preScorePlugins", func(p fwk.PreScorePlugin) fwk.PreScorePlugin {
		return preScore{p, f.call(pointPreScore, p)}
	})
	wrap(&f, "scorePlugins", func(p fwk.ScorePlugin) fwk.ScorePlugin {
		return score{p, f.call(pointScore, p)}
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
	return t, nil
}

// fields are those of a twin's framework.
type fields struct {
	twin *twin
	of   reflect.Value
	err  error
}

// call returns a new call of the twin.
func (f *fields) call(at point, p fwk.Plugin) *call {
	c := &call{point: at, plugin: p.Name()}
	f.twin.calls = append(f.twin.calls, c)
	return c
}

// wrap replaces a list of plugins by one of wrapped plugins. Kubernetes has no exported way to do
// that (docs/adr/0006-scheduler-plugins.md).
func wrap[P fwk.Plugin](f *fields, field string, with func(P) P) {
	v := f.of.FieldByName(field)
	if !v.IsValid() || v.Type() != reflect.TypeFor[[]P]() {
		if f.err == nil {
			f.err = fmt.Errorf("%s has no field %s of type %s: use the Kubernetes version that this module requires",
				f.of.Type(), field, reflect.TypeFor[[]P]())
		}
		return
	}
	list := (*[]P)(unsafe.Pointer(v.UnsafeAddr())) //nolint:gosec // the type is checked above
	wrapped := make([]P, len(*list))
	for i, p := range *list {
		wrapped[i] = with(p)
	}
	*list = wrapped
}

// use prepares the twin for an attempt.
func (t *twin) use(a *attempt) {
	for _, c := range t.calls {
		c.attempt = a
	}
}

// reset makes the twin ready for another attempt.
func (t *twin) reset() {
	for _, c := range t.calls {
		c.reset()
	}
	clear(t.scores)
	t.scores = t.scores[:0]
}
