// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	cpuSpec = `{"type":"Resource","resource":{"name":"cpu",` +
		`"target":{"type":"Utilization","averageUtilization":50}}}`
	cpuStatus = `{"type":"Resource","resource":{"name":"cpu",` +
		`"current":{"averageUtilization":250,"averageValue":"250m"}}}`
	memorySpec = `{"type":"Resource","resource":{"name":"memory",` +
		`"target":{"type":"AverageValue","averageValue":"200Mi"}}}`
	memoryStatus = `{"type":"Resource","resource":{"name":"memory","current":{"averageValue":"314572800"}}}`
)

// metricsOf returns a list of metrics of one type with the names and values.
func metricsOf(typ, field string, namesAndValues ...string) string {
	var out []string
	for i := 0; i < len(namesAndValues); i += 2 {
		out = append(out, `{"type":"`+typ+`","`+strings.ToLower(typ)+`":{"metric":{"name":"`+namesAndValues[i]+
			`"},"`+field+`":`+namesAndValues[i+1]+`}}`)
	}
	return strings.Join(out, ",")
}

// TestAutoscaler normalizes the status of HorizontalPodAutoscalers of autoscaling/v2.
func TestAutoscaler(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, tc := range map[string]struct {
		reason, spec, status string
		want                 string
	}{
		"Utilization":  {"a share of the request", cpuSpec, cpuStatus, "cpu 250% of 50%"},
		"AverageValue": {"the value has the target's suffix", memorySpec, memoryStatus, "memory 300Mi of 200Mi"},
		"Two": {
			"metrics are in order", cpuSpec + "," + memorySpec, cpuStatus + "," + memoryStatus,
			"cpu 250% of 50%, memory 300Mi of 200Mi",
		},
		"ContainerResource": {
			"the container has a name",
			`{"type":"ContainerResource","containerResource":{"name":"cpu","container":"app",` +
				`"target":{"type":"Utilization","averageUtilization":60}}}`,
			`{"type":"ContainerResource","containerResource":{"name":"cpu","container":"app",` +
				`"current":{"averageUtilization":90,"averageValue":"90m"}}}`,
			"cpu of container app 90% of 60%",
		},
		"Pods": {
			"a metric of the Pods",
			metricsOf("Pods", "target", "requests", `{"type":"AverageValue","averageValue":"10"}`),
			metricsOf("Pods", "current", "requests", `{"averageValue":"12500m"}`),
			"Pods metric requests 12500m of 10",
		},
		"Object": {
			"a metric of another object",
			metricsOf("Object", "target", "hits", `{"type":"Value","value":"2k"}`),
			metricsOf("Object", "current", "hits", `{"value":"10k"}`),
			"Object metric hits 10k of 2k",
		},
		"External": {
			"a metric from outside the cluster",
			metricsOf("External", "target", "queue_length", `{"type":"AverageValue","averageValue":"30"}`),
			metricsOf("External", "current", "queue_length", `{"averageValue":"42","value":"84"}`),
			"External metric queue_length 42 of 30",
		},
		"Joined": {
			"an adapter joins parts of a name",
			metricsOf("External", "target", "pubsub.googleapis.com|num_undelivered", `{"type":"Value","value":"1"}`),
			metricsOf("External", "current", "pubsub.googleapis.com|num_undelivered", `{"value":"2"}`),
			"External metric pubsub.googleapis.com|num_undelivered 2 of 1",
		},
		"Text": {
			"a name that looks like a text is withheld, and so is one without bound",
			metricsOf("External", "target", "my password is", `{"type":"Value","value":"1"}`, long, `{"value":"1"}`),
			metricsOf("External", "current", "my password is", `{"value":"2"}`, long, `{"value":"2"}`),
			"External metric (text withheld) 2 of 1, External metric (text withheld) 2 of 1",
		},
		"Missing": {
			"the controller writes an empty entry for a metric without a value", cpuSpec + "," + memorySpec,
			`{"type":""},` + memoryStatus, "memory 300Mi of 200Mi",
		},
		"Changed": {
			"the targets have another order than the values", memorySpec + "," + cpuSpec, cpuStatus,
			"cpu 250% of 50%",
		},
		"Removed": {"a value has no target any more", memorySpec, cpuStatus, ""},
		"NoNumber": {"a value is no quantity", memorySpec, strings.Replace(memoryStatus, "314572800", "hunter2", 1),
			""},
		"OtherForm": {
			"the value is not in the form of the target", cpuSpec,
			`{"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"250m"}}}`, "",
		},
		"SameName": {
			"two metrics differ in their selectors only",
			metricsOf("External", "target", "q", `{"type":"Value","value":"1"}`, "q", `{"type":"Value","value":"2"}`),
			metricsOf("External", "current", "q", `{"value":"3"}`, "q", `{"value":"4"}`),
			"External metric q 3 of 1, External metric q 4 of 2",
		},
		"Many": {
			"four metrics are kept",
			metricsOf("Pods", "target", "a", `{"averageValue":"1"}`, "b", `{"averageValue":"1"}`,
				"c", `{"averageValue":"1"}`, "d", `{"averageValue":"1"}`, "e", `{"averageValue":"1"}`),
			metricsOf("Pods", "current", "a", `{"averageValue":"2"}`, "b", `{"averageValue":"2"}`,
				"c", `{"averageValue":"2"}`, "d", `{"averageValue":"2"}`, "e", `{"averageValue":"2"}`),
			"Pods metric a 2 of 1, Pods metric b 2 of 1, Pods metric c 2 of 1, Pods metric d 2 of 1, (1 more)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := autoscalerOf(t, tc.spec, `"lastScaleTime":"2026-05-04T03:02:01Z","currentMetrics":[`+tc.status+`]`)
			want := &observation.Autoscaler{Scaled: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Metrics: tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNewAutoscaler: before its first decision an autoscaler has nothing to show.
func TestNewAutoscaler(t *testing.T) {
	if got := autoscalerOf(t, cpuSpec, `"currentMetrics":null,"desiredReplicas":0`); got != nil {
		t.Errorf("want nil, got %+v", got)
	}
}

func autoscalerOf(t *testing.T, spec, status string) *observation.Autoscaler {
	t.Helper()
	var u unstructured.Unstructured
	text := `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",` +
		`"metadata":{"name":"web","namespace":"default","uid":"u","resourceVersion":"7"},` +
		`"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":1,` +
		`"maxReplicas":5,"metrics":[` + spec + `]},` +
		`"status":{"currentReplicas":1,` + status + `}}`
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return normalizer.Object(&u).Autoscaler
}
