// SPDX-License-Identifier: Apache-2.0

package server

import (
	"regexp"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// TestRefusals: a command that cannot work fails with an error of one line, with the remedy.
func TestRefusals(t *testing.T) {
	ns := bench.Namespace(t)
	s := serve(t, harness.ServerOptions{})
	here := "http://" + s.APIAddress()
	other, err := lab.Start(t.Context(), lab.Options{Nodes: lab.NodesNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	unused := "http://" + harness.Free(t)
	const id = `[0-9a-f-]{36}`
	tests := map[string]struct {
		args       []string
		server     string
		kubeconfig string
		want       string
	}{
		"ls without a server": {
			[]string{"ls", "--server", ""},
			here,
			"",
			`there is no server: start one with "lifeline ui", install one in the cluster with "lifeline install", ` +
				`or name one with --server or LIFELINE_SERVER`,
		},
		"a trace ID without one": {
			[]string{"trace", "0123abcd", "--direct"},
			here,
			"",
			`cannot look up a trace ID, and KIND/NAME needs no server: there is no server: start one .*`,
		},
		"ls, no listener": {
			[]string{"ls"},
			unused,
			"",
			`cannot ask the server that LIFELINE_SERVER names: no server answers at ` + unused +
				`: start one with lifeline serve, .*`,
		},
		"watch, no listener": {
			[]string{"watch", "--server", unused},
			"",
			"",
			`cannot ask the server that --server names: no server answers at ` + unused + `: .*`,
		},
		"trace, no listener": {
			[]string{"trace", "deploy/web", "--server", unused},
			"",
			"",
			`cannot ask the server that --server names: .*`,
		},
		"not a server": {
			[]string{"ls", "--server", "http://" + s.TelemetryAddress()},
			"",
			"",
			`cannot ask .*: the program at .* is not lifeline serve, or has another version: .*`,
		},
		"no URL": {
			[]string{"ls", "--server", "ftp://x"},
			"",
			"",
			`cannot ask .*: "ftp://x" is not the URL of a server: give one such as .*`,
		},
		"ls of another cluster": {
			[]string{"ls"},
			here,
			other.Kubeconfig(),
			`the server that LIFELINE_SERVER names watches cluster ` + id + `, and your kubeconfig is for ` + id +
				`: choose its context with --context, .*`,
		},
		"watch of another cluster": {
			[]string{"watch", "--server", here},
			"",
			other.Kubeconfig(),
			`the server that --server names watches cluster .*`,
		},
		"trace of another cluster": {
			[]string{"trace", "deploy/web"},
			here,
			other.Kubeconfig(),
			`the server that LIFELINE_SERVER names watches cluster .*`,
		},
		"unknown trace": {
			[]string{"trace", "00000000"},
			here,
			"",
			`cannot get trace 00000000: there is no such trace: .*`,
		},
		"too few digits": {
			[]string{"trace", "0123abc"},
			here,
			"",
			`"0123abc" is neither KIND/NAME nor a trace ID \(at least 8 hexadecimal digits\)`,
		},
		"unknown object": {
			[]string{"trace", "deploy/none", "-n", ns},
			here,
			"",
			`the server at ` + here + ` has no trace of Deployment none in namespace ` + ns +
				`\nlifeline: there is no Deployment none in namespace ` + ns + `, as far as you may read`,
		},
		"hostile name": {
			[]string{"trace", "deploy/\x1b[31m$(reboot)\n\u202e", "-n", ns, "--direct"},
			here,
			"",
			`there is no Deployment \\x1b\[31m\$\(reboot\)\\n\\u202e in namespace ` + ns + `, .*`,
		},
		"unknown kind": {
			[]string{"trace", "queues.example.com/x"},
			here,
			"",
			`cannot trace .*: the cluster has no kind or resource "queues.example.com"`,
		},
		"unknown kind, listed": {
			[]string{"ls", "nothing/x"},
			here,
			"",
			`cannot list traces of nothing/x: the cluster has no kind or resource "nothing"`,
		},
		"no time": {
			[]string{"ls", "--since", "1x"},
			here,
			"",
			`--since "1x": it must be a duration back from now, such as 90m or 1d, or a time, such as .*`,
		},
		"time before last": {
			[]string{"ls", "--until", "-1h"},
			here,
			"",
			`--until "-1h": it must be a duration .*`,
		},
		"separate length": {
			[]string{"ls", "--slow", "30s"},
			here,
			"",
			`"30s" is not KIND/NAME; the minimum duration is --slow=30s`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			call := harness.Call{
				Args:       tt.args,
				Kubeconfig: tt.kubeconfig,
				Env:        []string{"LIFELINE_SERVER=" + tt.server},
			}
			r := bench.Do(t, call)
			if r.Code != 1 || r.Stdout != "" ||
				!regexp.MustCompile(`^lifeline: (?:`+tt.want+`)\n$`).MatchString(r.Stderr) {
				t.Errorf(
					"exit code %d, want 1; stdout:\n%s\nstderr:\n%s\nwant:\nlifeline: %s",
					r.Code,
					r.Stdout,
					r.Stderr,
					tt.want,
				)
			}
		})
	}
}
