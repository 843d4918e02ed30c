// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// selected are the changes that a request selects.
type selected struct {
	// list are the parameters of /api/v1/traces, and object those that /api/v1/watch has, too.
	list, object url.Values
	// states, categories and outcomes are the possible values; empty means all. name is that of one change.
	states, categories, outcomes []string
	name                         string
	// none means that no change can match.
	none bool
}

// selectableFields are the fields of selectors. Those of involvedObject select the changes that touch such an object.
var selectableFields = []string{
	"metadata.name", "metadata.namespace", "status.state", "status.outcome", "status.category", "involvedObject.kind",
	"involvedObject.name", "involvedObject.namespace", "involvedObject.uid",
}

// selectOf reads the selectors of a request.
func (t target) selectOf(q url.Values) (*selected, *metav1.Status) {
	s := &selected{list: url.Values{}, object: url.Values{}}
	if t.namespace != "" {
		s.object.Set("namespace", t.namespace)
	}
	byField, err := fields.ParseSelector(q.Get("fieldSelector"))
	if err != nil {
		return nil, Failure(http.StatusBadRequest, "cannot read the field selector: %v", err)
	}
	for _, r := range byField.Requirements() {
		if r.Operator == selection.NotEquals || !slices.Contains(selectableFields, r.Field) {
			return nil, Failure(http.StatusBadRequest,
				"changes have no field selector %s%s…: the fields are %s, each with =",
				shown(r.Field), r.Operator, strings.Join(selectableFields, ", "))
		}
		s.field(t, r.Field, r.Value)
	}
	byLabel, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return nil, Failure(http.StatusBadRequest, "cannot read the label selector: %v", err)
	}
	requirements, _ := byLabel.Requirements()
	for _, r := range requirements {
		values := r.Values().List()
		known := r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals ||
			r.Operator() == selection.In
		switch {
		case known && r.Key() == stateLabel:
			s.narrow(&s.states, values)
		case known && r.Key() == categoryLabel:
			s.narrow(&s.categories, values)
		default:
			return nil, Failure(http.StatusBadRequest,
				"changes have no label selector %s: the labels are %s and %s, each with = or in; "+
					"lifeline ls -l selects by the labels of objects", shown(r.String()), stateLabel, categoryLabel)
		}
	}
	for name, values := range map[string][]string{"state": s.states, "category": s.categories, "outcome": s.outcomes} {
		if len(values) > 0 {
			s.list.Set(name, strings.Join(values, ","))
		}
	}
	if s.name != "" {
		s.list.Set("id", s.name)
		s.none = s.none || !validName(s.name)
	}
	for name, values := range s.object {
		s.list[name] = values
	}
	return s, nil
}

// field adds the requirement of a field.
func (s *selected) field(t target, field, value string) {
	switch field {
	case "metadata.name":
		s.none = s.none || s.name != "" && s.name != value
		s.name = value
	case "metadata.namespace":
		s.none = s.none || t.visible && value != "" || t.namespace != "" && value != t.namespace
		s.object.Set("namespace", value)
	case "status.state":
		s.narrow(&s.states, []string{value})
	case "status.category":
		s.narrow(&s.categories, []string{value})
	case "status.outcome":
		s.narrow(&s.outcomes, []string{value})
	default:
		name := strings.TrimPrefix(field, "involvedObject.")
		s.none = s.none || s.object.Has(name) && s.object.Get(name) != value
		s.object.Set(name, value)
	}
}

// narrow keeps the values that are possible before and now.
func (s *selected) narrow(of *[]string, values []string) {
	if len(*of) == 0 {
		*of = values
		return
	}
	*of = slices.DeleteFunc(slices.Clone(*of), func(v string) bool { return !slices.Contains(values, v) })
	s.none = s.none || len(*of) == 0
}

// matches reports whether a change matches, apart from its objects.
func (s *selected) matches(of *api.Summary) bool {
	in := func(values []string, value string) bool { return len(values) == 0 || slices.Contains(values, value) }
	return !s.none && (s.name == "" || s.name == of.TraceID) && in(s.states, string(of.State)) &&
		in(s.categories, of.Category) && in(s.outcomes, string(outcomeOf(of)))
}
