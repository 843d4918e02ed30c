// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestRefused checks that invalid arguments are reported before any connection.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"Argument": {[]string{"instal"}, `unexpected argument "instal"`},
		"Compare":  {[]string{"compare", "one.json"}, "two files"},
		"NoTrace":  {[]string{"compare", "/nowhere", "/nowhere"}, "cannot open the trace"},
		"Flag":     {[]string{"--schedular", "x"}, "-schedular"},
		"Program":  {[]string{"--scheduler", "/nowhere"}, "cannot find the scheduler, see --scheduler"},
		"Kubeconfig": {
			[]string{"--scheduler", "true", "--kubeconfig", "/nowhere"},
			"cannot load the cluster configuration",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := command(t.Context(), tc.args, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf(
					"scheduler-operator %s: want an error with %q, got %v",
					strings.Join(tc.args, " "),
					tc.want,
					err,
				)
			}
		})
	}
}

// kubeconfig writes a kubeconfig with one cluster.
func kubeconfig(t *testing.T, name string) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name}
	path := filepath.Join(t.TempDir(), name)
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSchedulerKubeconfig: the scheduler has the cluster of the operator, or its own kubeconfig.
func TestSchedulerKubeconfig(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		env    string
		want   string
	}{
		"Own": {
			reason: "--scheduler-kubeconfig is the scheduler's alone",
			args: []string{
				"--kubeconfig",
				"a",
				"--scheduler-kubeconfig",
				"b",
			},
			env:  "c",
			want: filepath.Join(here, "b"),
		},
		"Flag": {
			reason: "--kubeconfig is before KUBECONFIG",
			args:   []string{"--kubeconfig", "a"}, env: "c", want: filepath.Join(here, "a"),
		},
		"Environment": {reason: "one file is used as it is", env: "c", want: filepath.Join(here, "c")},
		"Home":        {reason: "the home directory is the last", want: clientcmd.RecommendedHomeFile},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.env)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			got, err := parse(t, tc.args...).schedulerKubeconfig(t.TempDir())
			if err != nil || got != tc.want {
				t.Errorf("%s: got %q and the error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestMergedKubeconfig: several files in KUBECONFIG become one for the scheduler.
func TestMergedKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfig(t, "a")+string(filepath.ListSeparator)+kubeconfig(t, "b"))
	path, err := parse(t).schedulerKubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := clientcmd.LoadFromFile(path)
	if err != nil || got.Clusters["a"] == nil || got.Clusters["b"] == nil {
		t.Errorf("got %v and the error %v, want the clusters a and b", got, err)
	}
}

func parse(t *testing.T, args ...string) *options {
	t.Helper()
	var o options
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o.register(flags)
	if err := flags.Parse(append([]string{"--kubeconfig="}, args...)); err != nil {
		t.Fatal(err)
	}
	return &o
}
