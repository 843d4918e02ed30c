// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadArgs(t *testing.T) {
	cases := map[string]struct {
		reason  string
		args    string
		servers []string
		notes   []string // what each contains
	}{
		"Plain": {"nothing to say", "kubectl apply -f x.yaml", nil, nil},
		"Kubeconfig": {
			"it leads around", "kubectl --kubeconfig /k get pods", nil, []string{"lifeline run --kubeconfig /k"},
		},
		"Joined": {
			"in one word", "kubectl get pods --kubeconfig=/k", nil, []string{"lifeline run --kubeconfig /k"},
		},
		"Server": {
			"an address of its own is reached through the proxy", "kubectl -s https://h:1 get pods",
			[]string{"https://h:1"}, nil,
		},
		"ServerJoined": {"", "kubectl --server=http://h get pods", []string{"http://h"}, nil},
		"NoServer":     {"-s means other things elsewhere", "curl -s hello", nil, nil},
		"Shell": {
			"inside a script", "sh -c KUBECONFIG=/k\u00a0kubectl", nil, []string{"a kubeconfig of its own"},
		},
		"Authority": {
			"the proxy's certificate would not be trusted", "kubectl --certificate-authority=/ca get pods", nil,
			[]string{"lifeline run --certificate-authority /ca"},
		},
		"BehindTheDash": {"arguments of a program in a Pod", "kubectl exec p -- app --kubeconfig /k", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := readArgs(strings.Split(tc.args, " "))
			if diff := cmp.Diff(tc.servers, got.servers); diff != "" {
				t.Errorf("%s: servers -want +got:\n%s", tc.reason, diff)
			}
			if len(got.notes) != len(tc.notes) {
				t.Fatalf("%s: got notes %q, want %q", tc.reason, got.notes, tc.notes)
			}
			for i, want := range tc.notes {
				if !strings.Contains(got.notes[i], want) {
					t.Errorf("%s: got note %q, want %q", tc.reason, got.notes[i], want)
				}
			}
		})
	}
}
