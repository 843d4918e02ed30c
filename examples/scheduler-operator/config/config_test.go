// SPDX-License-Identifier: Apache-2.0

// Package config_test tests the manifests in this folder.
package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// TestTracingIsDeployed checks that the deployed operator's configuration file sends spans.
func TestTracingIsDeployed(t *testing.T) {
	c, err := tracing.Load("manager/tracing.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Endpoint == nil || c.SamplingRatePerMillion == nil || *c.SamplingRatePerMillion == 0 {
		t.Errorf("the configuration %+v sends nothing", c)
	}
}

// TestSamples checks that each field of the sample policies is one of the kind.
func TestSamples(t *testing.T) {
	for _, name := range []string{"spread", "packed"} {
		var p v1alpha1.SchedulingPolicy
		if err := yaml.UnmarshalStrict(read(t, filepath.Join("samples", name+".yaml")), &p); err != nil {
			t.Errorf("sample %s: %v", name, err)
		}
		if p.Name == "" || p.Spec.Profile.Strategy == "" {
			t.Errorf("sample %s has no name or no strategy", name)
		}
	}
}

// schema is the part of a CRD's schema that follows from the Go types.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Required   []string          `json:"required"`
}

// TestCRD checks that the CRD was generated after the last change of the Go types: it has their fields.
func TestCRD(t *testing.T) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	file := filepath.Join("crd", "scheduling.lifeline.dev_schedulingpolicies.yaml")
	if err := yaml.Unmarshal(read(t, file), &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s has %d versions, want 1", file, len(crd.Spec.Versions))
	}
	all := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for name, of := range map[string]any{
		"spec": v1alpha1.SchedulingPolicySpec{}, "status": v1alpha1.SchedulingPolicyStatus{},
	} {
		compare(t, name, reflect.TypeOf(of), all.Properties[name])
	}
}

// compare compares the fields of a struct of this API with the properties of its schema.
func compare(t *testing.T, path string, of reflect.Type, s schema) {
	t.Helper()
	var want []string
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		want = append(want, name)
		if optional := options != ""; optional == slices.Contains(s.Required, name) {
			t.Errorf("%s.%s is optional in one of Go type and CRD; run go generate ./...", path, name)
		}
		below, inner := s.Properties[name], field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if below.Items != nil {
			below = *below.Items
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == reflect.TypeFor[v1alpha1.Profile]().PkgPath() {
			compare(t, path+"."+name, inner, below)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
		t.Errorf("the fields of %s differ; run go generate ./...: -want +got:\n%s", path, diff)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
