// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// maxMetrics bounds the metrics of one autoscaler.
const maxMetrics = 4

// autoscaler returns the last decision of a HorizontalPodAutoscaler, or nil before the first one.
func autoscaler(obj fields) *observation.Autoscaler {
	status := sub(obj, "status")
	a := observation.Autoscaler{
		Scaled:  moment(status, "lastScaleTime"),
		Metrics: metrics(items(sub(obj, "spec"), "metrics"), items(status, "currentMetrics")),
	}
	if a == (observation.Autoscaler{}) {
		return nil
	}
	return &a
}

// metrics returns a text with the values of the metrics current, next to the targets in specs. It
// leaves out metrics without a value or a target.
func metrics(specs, current []any) string {
	var texts []string
	for i, c := range current {
		name, is := metric(c)
		if name == "" {
			continue
		}
		same := func(spec any) bool { n, _ := metric(spec); return n == name }
		if i >= len(specs) || !same(specs[i]) { // the spec has changed since
			if i = slices.IndexFunc(specs, same); i < 0 {
				continue
			}
		}
		_, wants := metric(specs[i])
		if value := measured(sub(is, "current"), sub(wants, "target")); value != "" {
			texts = append(texts, name+" "+value)
		}
	}
	if more := len(texts) - maxMetrics; more > 0 {
		texts = append(texts[:maxMetrics], fmt.Sprintf("(%d more)", more))
	}
	return object.Bound(strings.Join(texts, ", "))
}

// metric returns the name of a metric, "" for one without a value, and the fields of its type.
func metric(v any) (name string, of fields) {
	m, _ := v.(fields)
	switch typ := raw(m, "type"); typ {
	case "Resource":
		of = sub(m, "resource")
		return raw(of, "name"), of
	case "ContainerResource":
		of = sub(m, "containerResource")
		return raw(of, "name") + " of container " + raw(of, "container"), of
	case "Pods", "Object", "External":
		of = sub(m, strings.ToLower(typ))
		return typ + " metric " + metricName(raw(sub(of, "metric"), "name")), of
	}
	return "", nil
}

// metricName returns the name of a metric outside the resources of a Pod. Users choose these names. So
// a text that does not look like a name is withheld. Some adapters join parts of names with "|".
func metricName(s string) string {
	if plain(strings.ReplaceAll(s, "|", "/")) {
		return s
	}
	return message.Withheld
}

// measured returns a value next to its target, in the target's form: "250% of 50%". It is "" if one of
// them is missing.
func measured(current, target fields) string {
	const utilization = "averageUtilization"
	switch {
	case target[utilization] != nil && current[utilization] != nil:
		return fmt.Sprintf("%d%% of %d%%", number(current, utilization), number(target, utilization))
	case target[utilization] != nil:
		return ""
	case target["averageValue"] != nil:
		return quantity(raw(current, "averageValue"), raw(target, "averageValue"))
	}
	return quantity(raw(current, "value"), raw(target, "value"))
}

// quantity returns a quantity next to its target, with the target's kind of suffix: "300Mi of 200Mi".
func quantity(value, target string) string {
	v, err := resource.ParseQuantity(value)
	if err != nil {
		return ""
	}
	t, err := resource.ParseQuantity(target)
	if err != nil {
		return ""
	}
	return resource.NewDecimalQuantity(*v.AsDec(), t.Format).String() + " of " + t.String()
}
