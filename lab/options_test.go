// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		opts   Options
		want   string
	}{
		"Zero": {reason: "The zero value is usable."},
		"Name": {reason: "Names become file names.", opts: Options{Name: "a/b"}, want: `Name "a/b"`},
		"Dir":  {reason: "Processes have directories of their own.", opts: Options{Dir: "x"}, want: `Dir "x"`},
		"Version": {
			reason: "A minor version, without a v.",
			opts:   Options{Version: "v1.37.2"},
			want:   `no Kubernetes "v1.37.2" here: want 1.`,
		},
		"Nodes": {reason: "A typo is not a mode.", opts: Options{Nodes: "reel"}, want: `Nodes "reel"`},
		"TwoRealNodes": {
			reason: "One machine is one node.",
			opts:   Options{Nodes: NodesReal, NodeCount: 2},
			want:   "NodeCount 2",
		},
		"NegativeDelay": {reason: "Time goes forward.", opts: Options{KWOK: KWOKOptions{Pull: -1}}, want: "KWOK:"},
		"Webhook":       {reason: "A path is not a URL.", opts: Options{AuditWebhook: "/x"}, want: "AuditWebhook"},
		"Tracing": {
			reason: "The scheduler emits no spans.",
			opts: Options{
				Tracing: map[Component]Tracing{Scheduler: {Endpoint: "127.0.0.1:1"}},
			},
			want: "kube-scheduler sends no spans",
		},
		"TracingRate": {
			reason: "A rate is a share of a million.",
			opts: Options{
				Tracing: map[Component]Tracing{Etcd: {Endpoint: "e", SamplingRatePerMillion: 2e6}},
			},
			want: "Tracing of etcd",
		},
		"TracingOfTheScheduler": {
			reason: "kube-scheduler sends no spans; another program may.",
			opts:   Options{Tracing: map[Component]Tracing{Scheduler: {Endpoint: "e"}}},
			want:   "kube-scheduler sends no spans",
		},
		"AnotherScheduler": {
			reason: "It may send spans.",
			opts:   Options{Scheduler: "/bin/s", Tracing: map[Component]Tracing{Scheduler: {Endpoint: "e"}}},
		},
		"SchedulerHere": {
			reason: "The cluster may outlive the working directory.",
			opts:   Options{Scheduler: "s"},
			want:   "Scheduler \"s\"",
		},
		"ExtraArgs": {
			reason: "A typo is not a component.",
			opts:   Options{ExtraArgs: map[Component][]string{"kcm": nil}},
			want:   `"kcm"`,
		},
		"AddOn": {
			reason: "The error lists those that exist.",
			opts:   Options{AddOns: []AddOn{"argo"}},
			want:   `no add-on "argo": want some of [`,
		},
		"MetricsOfFakeNodes": {
			reason: "Fake Pods use nothing.",
			opts:   Options{AddOns: []AddOn{Metrics}},
			want:   `metrics-server needs Nodes "real"`,
		},
		"UserTwice": {
			reason: "Each user has one kubeconfig.",
			opts:   Options{Users: []User{{Name: "a"}, {Name: "a"}}},
			want:   `"a"`,
		},
		"UserAdmin": {
			reason: "The administrator is there already.",
			opts:   Options{Users: []User{{Name: "admin"}}},
			want:   `"admin"`,
		},
		"DetachedDir": {reason: "It must be found again.", opts: Options{Detached: true}, want: "Dir: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.opts.Validate()
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nValidate(): %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestVersionOfOptions(t *testing.T) {
	newest, older := Versions()[0], Versions()[1]
	cases := map[string]struct {
		reason string
		opts   Options
		env    string
		want   string
	}{
		"Newest":      {reason: "The default.", want: newest},
		"Environment": {reason: "The variable sets the version of a test run.", env: older, want: older},
		"Options": {
			reason: "A test may require a version.",
			opts:   Options{Version: newest},
			env:    older,
			want:   newest,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(VersionEnv, tc.env)
			if got := tc.opts.withDefaults().Version; got != tc.want {
				t.Errorf("%s\nwithDefaults().Version: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	t.Setenv(VersionEnv, "1.0")
	if err := (Options{}).Validate(); err == nil ||
		!strings.Contains(err.Error(), VersionEnv+`): no Kubernetes "1.0"`) {
		t.Errorf("Validate() with a version in the environment that is not there: %v", err)
	}
}
