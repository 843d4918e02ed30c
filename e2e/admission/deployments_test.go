// SPDX-License-Identifier: Apache-2.0

package admission

// Scenarios of Deployments. Their controller copies annotations to ReplicaSets,
// with one write for each copy, so a context costs most here.

// apply is a client-side apply, applySSA a server-side one.
func apply(manifest string, flags ...string) func(*stage) {
	return func(s *stage) { s.stdin(manifest, append([]string{"apply", "-f", "-"}, flags...)...) }
}

func applySSA(manifest string) func(*stage) { return apply(manifest, "--server-side") }

func kubectl(args ...string) func(*stage) { return func(s *stage) { s.kubectl(args...) } }

// heal deletes the first of some Pods.
func heal(selector string) func(*stage) {
	return func(s *stage) {
		s.kubectl("delete", s.kubectl("get", "pods", "-l", selector, "-o", "jsonpath=pod/{.items[0].metadata.name}"))
	}
}

func patch(object, text string) func(*stage) {
	return kubectl("patch", object, "--type=merge", "-p", text)
}

var deployments = []scenario{
	{
		name:   "Deployment, applied",
		reason: "what a user does with kubectl apply costs the writes that it costs without the webhook",
		steps: []step{
			{name: "create", do: apply(web(2, "web:1"))},
			{name: "apply again", do: apply(web(2, "web:1"))},
			{name: "scale up by apply", do: apply(web(3, "web:1"))},
			{name: "scale down by apply", do: apply(web(2, "web:1"))},
			{name: "template", do: apply(web(2, "web:2"))},
			{name: "apply again after it", do: apply(web(2, "web:2"))},
			{name: "undo", do: kubectl("rollout", "undo", "deployment/web")},
			{name: "apply again what was undone", do: apply(web(2, "web:2"))},
			{name: "heal", do: heal("app=web")},
			{name: "progressDeadline", do: apply(web(2, "web:2", "  progressDeadlineSeconds: 300"))},
			{name: "history limit", do: patch("deployment/web", `{"spec":{"revisionHistoryLimit":1}}`)},
			{name: "minReadySeconds", do: patch("deployment/web", `{"spec":{"minReadySeconds":1}}`)},
			{name: "delete", do: kubectl("delete", "deployment/web")},
		},
	},
	{
		name:   "Deployment, by hand",
		reason: "what a user does with kubectl's other commands costs the writes that it costs without the webhook",
		steps: []step{
			{
				name: "create",
				do:   kubectl("create", "deployment", "web", "--image=registry.example/web:1", "--replicas=1"),
			},
			{name: "scale up", do: kubectl("scale", "deployment/web", "--replicas=3")},
			{name: "scale down", do: kubectl("scale", "deployment/web", "--replicas=1")},
			{name: "set image", do: kubectl("set", "image", "deployment/web", "web=registry.example/web:2")},
			{name: "restart", do: kubectl("rollout", "restart", "deployment/web")},
			{name: "undo to the first", do: kubectl("rollout", "undo", "deployment/web", "--to-revision=1")},
			{name: "pause", do: kubectl("rollout", "pause", "deployment/web")},
			{
				name: "template while paused",
				do:   kubectl("set", "image", "deployment/web", "web=registry.example/web:3"),
			},
			{name: "scale while paused", do: kubectl("scale", "deployment/web", "--replicas=2")},
			{name: "resume", do: kubectl("rollout", "resume", "deployment/web")},
			{name: "label", do: kubectl("label", "deployment/web", "team=a")},
			{name: "annotate", do: kubectl("annotate", "deployment/web", "note=a")},
			{name: "delete in the foreground", do: kubectl("delete", "deployment/web", "--cascade=foreground")},
		},
	},
	{
		name:   "Deployment, server-side",
		reason: "server-side apply finds no conflict with an annotation that nobody owns, and no change in it",
		steps: []step{
			{name: "create", do: applySSA(web(2, "web:1"))},
			{name: "apply again", do: applySSA(web(2, "web:1"))},
			{name: "scale up", do: applySSA(web(3, "web:1"))},
			{name: "scale down", do: applySSA(web(2, "web:1"))},
			{name: "template", do: applySSA(web(2, "web:2"))},
			{name: "apply again after it", do: applySSA(web(2, "web:2"))},
			{
				name: "another manager",
				do:   apply(web(2, "web:2"), "--server-side", "--field-manager=other", "--force-conflicts"),
			},
			{name: "client-side after it", do: apply(web(2, "web:3"))},
			{name: "delete", do: kubectl("delete", "deployment/web", "--cascade=background")},
		},
	},
	{
		name:   "Deployment of five",
		reason: "a rollout of more Pods scales its ReplicaSets more often; a context must not add to each",
		steps: []step{
			{name: "create", do: apply(web(5, "web:1"))},
			{name: "template", do: apply(web(5, "web:2"))},
			{name: "template and scale", do: apply(web(3, "web:3"))},
			{name: "undo", do: kubectl("rollout", "undo", "deployment/web")},
		},
	},
	{
		name:   "Deployment, replaced",
		reason: "a manifest that was written or saved before knows nothing of the context that the object has now",
		steps: []step{
			{name: "create", do: func(s *stage) { s.stdin(web(2, "web:1"), "create", "-f", "-") }},
			{name: "replace by a plain manifest", do: func(s *stage) {
				s.save("deployment/web")
				s.stdin(web(2, "web:1"), "replace", "-f", "-")
			}},
			{
				name: "replace by a plain manifest, scaled",
				do:   func(s *stage) { s.stdin(web(3, "web:1"), "replace", "-f", "-") },
			},
			{
				name: "replace by a plain manifest, other template",
				do:   func(s *stage) { s.stdin(web(2, "web:2"), "replace", "-f", "-") },
			},
			{
				name: "replace by a saved old one",
				do:   func(s *stage) { s.stdin(s.restored("deployment/web"), "replace", "-f", "-") },
			},
			{
				name: "replace by the same again",
				do:   func(s *stage) { s.stdin(s.restored("deployment/web"), "replace", "-f", "-") },
			},
			{name: "replace by force", do: func(s *stage) {
				s.save("deployment/web")
				s.stdin(s.saved["deployment/web"], "replace", "--force", "-f", "-")
			}},
		},
	},
	{
		name:   "Deployment, orphans adopted",
		reason: "a Deployment that is made anew has a context of its own, which its ReplicaSet does not have yet",
		steps: []step{
			{name: "create", do: apply(web(2, "web:1"))},
			{name: "delete and leave orphans", do: kubectl("delete", "deployment/web", "--cascade=orphan")},
			{
				name: "create over them", do: apply(web(2, "web:1")),
				// Measured, and known: the controller copies the context when it adopts.
				costs: map[string]int{"replicasets web-A: update": 1},
			},
			{name: "apply again", do: apply(web(2, "web:1"))},
			{name: "scale", do: kubectl("scale", "deployment/web", "--replicas=1")},
			{name: "template", do: apply(web(1, "web:2"))},
		},
	},
	{
		name: "HorizontalPodAutoscaler",
		reason: "what it scales is scaled by the subresource, which cannot be stamped, and whose effect on the " +
			"Deployment must not be",
		steps: []step{
			{name: "Deployment", do: apply(web(2, "web:1"))},
			{name: "create", do: scaled(scaler(2, 4), "2")},
			{name: "apply again", do: apply(scaler(2, 4))},
			{name: "up", do: scaled(scaler(3, 4), "3")},
			{name: "down", do: func(s *stage) {
				// With no metrics it goes down no further than it must.
				scaled(scaler(1, 1), "1")(s)
			}},
			{
				name: "template",
				do:   func(s *stage) { s.kubectl("set", "image", "deployment/web", "main=registry.example/web:2") },
			},
			{name: "by hand, against it", do: func(s *stage) {
				s.kubectl("scale", "deployment/web", "--replicas=2")
				s.kubectl("wait", "deployment/web", "--for=jsonpath={.spec.replicas}=1", "--timeout=4m")
			}},
			{name: "delete", do: kubectl("delete", "hpa/web")},
		},
	},
}

// scaled applies an HPA and waits until it has brought web to so many replicas.
func scaled(manifest, replicas string) func(*stage) {
	return func(s *stage) {
		apply(manifest)(s)
		s.kubectl("wait", "deployment/web", "--for=jsonpath={.spec.replicas}="+replicas, "--timeout=4m")
	}
}
