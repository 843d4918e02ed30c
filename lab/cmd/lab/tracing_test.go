// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/lab"
)

func TestTracingFlag(t *testing.T) {
	const here = "127.0.0.1:4317"
	all := lab.Tracing{Endpoint: here, SamplingRatePerMillion: lab.EveryTrace}
	few := lab.Tracing{Endpoint: here, SamplingRatePerMillion: 10_000}
	cases := map[string]struct {
		reason string
		args   []string
		want   map[lab.Component]lab.Tracing
		fails  string
	}{
		"Nothing": {reason: "No configuration is a separate state."},
		"Endpoint": {
			reason: "The common case: whatever can, sends all.", args: []string{here}, want: all.Of(),
		},
		"Rate": {
			reason: "A share of the traces begun.", args: []string{here + "@1%"}, want: few.Of(),
		},
		"SmallRate": {
			reason: "Kubernetes counts per million.", args: []string{here + "@0.0001%"},
			want: lab.Tracing{Endpoint: here, SamplingRatePerMillion: 1}.Of(),
		},
		"RateZero": {
			reason: "Traces of callers only: not the same as no configuration.", args: []string{here + "@0%"},
			want: lab.Tracing{Endpoint: here}.Of(),
		},
		"OneComponent": {
			reason: "The others have no configuration.", args: []string{"kubelet=" + here}, want: all.Of(lab.Kubelet),
		},
		"LastWordCounts": {
			reason: "All but, or all and differently.", args: []string{here, "kubelet=none", "etcd=" + here + "@1%"},
			want: map[lab.Component]lab.Tracing{lab.APIServer: all, lab.Containerd: all, lab.Etcd: few},
		},
		"NoneOfNothing": {reason: "The removal of an absent part is no error.", args: []string{"none"}},
		"NoSuchComponent": {
			reason: "The controller manager sends no spans.",
			args:   []string{"kube-controller-manager=" + here},
			fails:  `"kube-controller-manager" sends no spans`,
		},
		"NoPort": {
			reason: "A receiver is an address.",
			args:   []string{"localhost"},
			fails:  `receiver "localhost"`,
		},
		"NoPercent":    {reason: "1 could be taken for all.", args: []string{here + "@1"}, fails: `rate "1"`},
		"TooMuch":      {reason: "More than all.", args: []string{here + "@101%"}, fails: `rate "101%"`},
		"NegativeRate": {reason: "Less than none.", args: []string{here + "@-1%"}, fails: `rate "-1%"`},
		"NotANumber":   {reason: "ParseFloat reads it.", args: []string{here + "@NaN%"}, fails: `rate "NaN%"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got map[lab.Component]lab.Tracing
			var failed error
			for _, arg := range tc.args {
				if failed = (tracingFlag{&got}).Set(arg); failed != nil {
					break
				}
			}
			if (failed == nil) != (tc.fails == "") || (failed != nil && !strings.Contains(failed.Error(), tc.fails)) {
				t.Fatalf("%s\nSet(%q): %v, want %q", tc.reason, tc.args, failed, tc.fails)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nSet(%q): -want +got:\n%s", tc.reason, tc.args, diff)
			}
		})
	}
}
