// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// start starts a cluster that ends with the test.
func start(t *testing.T, opts Options) *Cluster {
	t.Helper()
	opts.Progress = t.Output()
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// podManifest is a Pod named after the case, with the given annotations (of
// ours, without prefix) and spec, in YAML's flow style.
func podManifest(name, annotations, spec string) string {
	var lines strings.Builder
	for a := range strings.SplitSeq(annotations, ",") {
		if key, value, ok := strings.Cut(a, "="); ok {
			fmt.Fprintf(&lines, "\n    lab.lifeline.dev/%s: %q", key, value)
		}
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %q\n  annotations:%s\nspec: %s\n",
		name, cmp.Or(lines.String(), " {}"), spec)
}

func TestKWOKPods(t *testing.T) {
	c := start(t, Options{})
	const one = `{containers: [{name: a, image: nginx:1}]}`
	pulled := []string{"Pulling a", "Pulled a", "Created a", "Started a"}
	cases := map[string]struct {
		reason      string
		annotations string
		spec        string
		// wait is kubectl's condition; want are the kubelet's Events until then, with their
		// objects.
		wait string
		want []string
	}{
		"plain": {
			reason: "The ordinary life of a Pod.",
			spec:   one, wait: "condition=Ready", want: pulled,
		},
		"present": {
			reason: "An image that is never pulled is there.",
			spec:   `{containers: [{name: a, image: nginx:1, imagePullPolicy: Never}]}`,
			wait:   "condition=Ready", want: []string{"Pulled a", "Created a", "Started a"},
		},
		"y": {
			reason: "A name that YAML takes for a boolean is a name.",
			spec:   `{containers: [{name: "n", image: nginx:1}]}`,
			wait:   "condition=Ready", want: []string{"Pulling n", "Pulled n", "Created n", "Started n"},
		},
		"several": {
			reason: "Init containers, a sidecar among them, and containers are started one after the other.",
			spec: `{initContainers: [{name: i, image: init:1}, {name: s, image: sidecar:1, restartPolicy: Always}],` +
				` containers: [{name: a, image: nginx:1}, {name: b, image: log:1}]}`,
			wait: "condition=Ready",
			want: []string{
				"Pulling i", "Pulled i", "Created i", "Started i", "Pulling s", "Pulled s", "Created s", "Started s",
				"Pulling a", "Pulled a", "Created a", "Started a", "Pulling b", "Pulled b", "Created b", "Started b",
			},
		},
		"pull-fails": {
			reason:      "A pull that fails is tried again after a pause.",
			annotations: "pull-error=not found,backoff=300ms",
			spec:        one,
			wait:        "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff",
			want:        []string{"Pulling a", "Failed a", "Failed a", "BackOff a", "Failed a"},
		},
		"completes": {
			reason: "Containers that end well make the Pod succeed.", annotations: "run=200ms",
			spec: `{restartPolicy: Never, containers: [{name: a, image: nginx:1}]}`,
			wait: "jsonpath={.status.phase}=Succeeded", want: pulled,
		},
		"fails": {
			reason: "Containers that end badly make the Pod fail.", annotations: "run=200ms,exit-code=3",
			spec: `{restartPolicy: Never, containers: [{name: a, image: nginx:1}]}`,
			wait: "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}=3", want: pulled,
		},
		"crash-loops": {
			reason:      "A container that ends is restarted at once, and then after a pause.",
			annotations: "run=50ms,exit-code=1,ready=10ms,backoff=1s", spec: one,
			wait: "jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff",
			want: append(slices.Clone(pulled), "Pulled a", "Created a", "Started a", "BackOff a"),
		},
		"gated": {
			reason: "A closed readiness gate keeps a Pod from being Ready, not its containers.",
			spec:   `{readinessGates: [{conditionType: example.com/gate}], containers: [{name: a, image: nginx:1}]}`,
			wait:   "condition=ContainersReady", want: pulled,
		},
		"unschedulable": {
			reason: "The nodes have an end.",
			spec:   `{containers: [{name: a, image: nginx:1, resources: {requests: {memory: 1Ti}}}]}`,
			wait:   "condition=PodScheduled=False",
		},
	}
	for name, tc := range cases {
		kubectl(t, c, podManifest(name, tc.annotations, tc.spec), "apply", "-f", "-")
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kubectl(t, c, "", "wait", "pod/"+name, "--for="+tc.wait, "--timeout=4m")
			var got []string
			for _, e := range kubeletEvents(t, c, name) {
				got = append(got, e.Reason+" "+e.container())
			}
			// Later Events of a retried Pod do not matter here.
			got = got[:min(len(got), max(len(tc.want), 1))]
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nevents: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKWOKPodInDetail(t *testing.T) {
	slow(t)
	c := start(t, Options{Version: Versions()[0], KWOK: KWOKOptions{Pull: 1250e6, Ready: 2e9}})
	kubectl(t, c, podManifest("web", "ready=20ms", `{containers: [{name: a, image: "nginx:1"}]}`), "apply", "-f", "-")
	kubectl(t, c, "", "wait", "pod/web", "--for=condition=Ready", "--timeout=4m")

	t.Run("MessagesAreTheKubelets", func(t *testing.T) {
		var got []string
		for _, e := range kubeletEvents(t, c, "web") {
			got = append(got, e.Message)
			if e.Source.Component != "kubelet" || e.Source.Host != "node-0" {
				t.Errorf("source of %s: %+v, want the kubelet of node-0", e.Reason, e.Source)
			}
		}
		want := []string{
			`Pulling image "nginx:1"`,
			`Successfully pulled image "nginx:1" in 1.25s (1.25s including waiting). Image size: 189072016 bytes.`,
			`Container created`,
			`Container started`,
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("messages: -want +got:\n%s", diff)
		}
	})
	t.Run("FieldsAreTheKubelets", func(t *testing.T) {
		out := kubectl(
			t,
			c,
			"",
			"get",
			"pod",
			"web",
			"--show-managed-fields",
			"-o",
			`jsonpath={.metadata.managedFields[?(@.subresource=="status")].manager} {.status.phase} `+
				`{.status.observedGeneration}`,
		)
		if want := "kubelet Running 1"; out != want {
			t.Errorf("status written by, phase, generation: got %q, want %q", out, want)
		}
	})
	t.Run("DeletionIsGraceful", func(t *testing.T) {
		kubectl(t, c, "", "delete", "pod", "web", "--timeout=4m")
		events := kubeletEvents(t, c, "web")
		if last := events[len(events)-1]; last.Reason != "Killing" || last.Message != "Stopping container a" {
			t.Errorf("last event: %+v, want Killing", last)
		}
	})
	t.Run("NamespaceCanBeDeleted", func(t *testing.T) {
		kubectl(t, c, "", "create", "namespace", "doomed")
		kubectl(
			t,
			c,
			podManifest("p", "pull=1ms,ready=1ms", `{containers: [{name: a, image: "nginx:1"}]}`),
			"apply",
			"-n",
			"doomed",
			"-f",
			"-",
		)
		kubectl(t, c, "", "wait", "-n", "doomed", "pod/p", "--for=condition=Ready", "--timeout=4m")
		kubectl(t, c, "", "delete", "namespace", "doomed", "--timeout=4m")
	})
	t.Run("JobCompletes", func(t *testing.T) {
		kubectl(t, c, "", "create", "job", "j", "--image=busybox:1")
		kubectl(t, c, "", "wait", "job/j", "--for=condition=Complete", "--timeout=4m")
	})
}

// kubeletEvent is an Event that a kubelet reported.
type kubeletEvent struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	InvolvedObject struct {
		FieldPath string `json:"fieldPath"`
	} `json:"involvedObject"`
	Reason, Message string
	Source          struct{ Component, Host string }
}

// container is the name in spec.containers{name}.
func (e kubeletEvent) container() string {
	_, name, _ := strings.Cut(e.InvolvedObject.FieldPath, "{")
	return strings.TrimSuffix(name, "}")
}

func (e kubeletEvent) version() int {
	n, _ := strconv.Atoi(e.Metadata.ResourceVersion)
	return n
}

// kubeletEvents returns the kubelet's Events about a Pod in their order.
func kubeletEvents(t *testing.T, c *Cluster, pod string) []kubeletEvent {
	t.Helper()
	var list struct{ Items []kubeletEvent }
	get(t, c, "/api/v1/namespaces/default/events?fieldSelector=source%3Dkubelet,involvedObject.name%3D"+pod, &list)
	slices.SortFunc(list.Items, func(a, b kubeletEvent) int { return cmp.Compare(a.version(), b.version()) })
	return list.Items
}
