// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestWhyObjects: the forms of kubectl.
func TestWhyObjects(t *testing.T) {
	for args, want := range map[string][2][]string{
		"":                  {nil, nil},
		"deploy":            {nil, {"deploy"}},
		"deploy,sts":        {nil, {"deploy", "sts"}},
		"deploy/web":        {{"deploy/web"}, nil},
		"deploy web":        {{"deploy/web"}, nil},
		"deploy web api":    {{"deploy/web", "deploy/api"}, nil},
		"deploy/web sts/db": {{"deploy/web", "sts/db"}, nil},
		"deploy sts/db":     {{"deploy", "sts/db"}, nil}, // Validate rejects it
	} {
		names, kinds := whyObjects(strings.Fields(args))
		if diff := cmp.Diff(want, [2][]string{names, kinds}); diff != "" {
			t.Errorf("%q: -want +got:\n%s", args, diff)
		}
	}
}

// TestWhyFlags: the errors name the flag and the object.
func TestWhyFlags(t *testing.T) {
	noConfig(t)
	for args, want := range map[string]string{
		"why deploy/web -A":     "--all-namespaces (-A) goes with a kind or nothing",
		"why deploy/web -l a=b": "--selector (-l) goes with a kind or nothing, and not with the name deploy/web",
		"why deploy sts/db":     `"deploy" is not KIND/NAME`,
		"why -l a=b=c":          `--selector "a=b=c"`,
		"why -o tree":           `unknown output "tree": known are text, wide, json, yaml, name`,
		"why -A":                "there is no server that could list problems, and no cluster to read",
		"why deploy -n shop":    "there is no kubeconfig",
	} {
		var out, log strings.Builder
		root := newRoot(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log}, "lifeline")
		root.SetArgs(strings.Fields(args))
		err := root.ExecuteContext(t.Context())
		if text := log.String() + errText(err); err == nil || !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %q in it", args, text, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
