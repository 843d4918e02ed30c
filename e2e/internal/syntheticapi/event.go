// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// happening is an Event in the life of a Pod.
type happening int

const (
	eventScheduled happening = iota
	eventPulled
	eventCreated
	eventStarted
	eventKilling
	eventsPerPod
)

var eventWidths = map[textField]int{
	name: eventWidth, namespace: spaceWidth, uid: uidWidth, version: versionWidth, regarding: podWidth,
	regardingUID: uidWidth, node: nodeWidth, app: appWidth,
}

// eventTemplates returns a template for each Event.
func eventTemplates() [eventsPerPod]*template {
	var out [eventsPerPod]*template
	for h := range eventsPerPod {
		out[h] = newTemplate(eventAt(h), eventWidths)
	}
	return out
}

func eventAt(h happening) *eventsv1.Event {
	text := func(f textField) string { return placeholder(f, eventWidths[f]) }
	reason := [...]string{"Scheduled", "Pulled", "Created", "Started", "Killing"}[h]
	note := [...]string{
		"Successfully assigned " + text(namespace) + "/" + text(regarding) + " to " + text(node),
		`Container image "` + imageOf(text(app)) + `" already present on machine and can be accessed by the pod`,
		"Container created", "Container started", "Stopping container app",
	}[h]
	at := metaTime(created)
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: text(name), Namespace: text(namespace), UID: types.UID(text(uid)), ResourceVersion: text(version),
			CreationTimestamp: at,
		},
		Reason: reason, Note: note, Type: corev1.EventTypeNormal, Action: "Binding",
		Regarding: corev1.ObjectReference{
			Kind: "Pod", Namespace: text(namespace), Name: text(regarding), UID: types.UID(text(regardingUID)),
			APIVersion: "v1", FieldPath: "spec.containers{app}",
		},
	}
	manager, parts := "kubelet", []string{"regarding", "note", "reason", "type", "deprecatedCount"}
	if h == eventScheduled {
		manager = "kube-scheduler"
		e.EventTime = metav1.NewMicroTime(placeholderTime(created).Add(123456000))
		e.ReportingController, e.ReportingInstance = "default-scheduler", "default-scheduler-control-plane-1"
		e.Regarding.FieldPath = ""
	} else {
		e.ReportingController, e.ReportingInstance, e.Action = "kubelet", text(node), ""
		e.DeprecatedSource = corev1.EventSource{Component: "kubelet", Host: text(node)}
		e.DeprecatedFirstTimestamp, e.DeprecatedLastTimestamp, e.DeprecatedCount = at, at, 1
	}
	e.ManagedFields = []metav1.ManagedFieldsEntry{owned(manager, "", at, e, parts...)}
	return e
}
