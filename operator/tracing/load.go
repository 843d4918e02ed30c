// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// kind is the kind in kube-apiserver's file.
const kind = "TracingConfiguration"

// document is a TracingConfiguration with or without apiVersion and kind. kube-apiserver's file has
// them; the section in kubelet's file does not.
type document struct {
	metav1.TypeMeta                 `json:",inline"`
	tracingapi.TracingConfiguration `json:",inline"`
}

// Load reads a TracingConfiguration from a YAML or JSON file. It accepts the fields alone, or with
// apiVersion apiserver.config.k8s.io/v1 (or v1beta1) and the kind. So kube-apiserver's file can be
// shared. Unknown fields, repeated fields and values that Validate rejects are errors. They name
// the file and the field.
func Load(path string) (*tracingapi.TracingConfiguration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read tracing configuration: %w", err) // err names the file
	}
	configuration, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("cannot use tracing configuration %s: %w", path, err)
	}
	return configuration, nil
}

func decode(data []byte) (*tracingapi.TracingConfiguration, error) {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	var d document
	strict, err := json.UnmarshalStrict(text, &d)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, err
	}
	if err := d.header(); err != nil {
		return nil, err
	}
	if errs := Validate(&d.TracingConfiguration, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return &d.TracingConfiguration, nil
}

// header returns an error for another apiVersion or kind.
func (d *document) header() error {
	switch d.APIVersion {
	case "apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1":
		if d.Kind != kind {
			return fmt.Errorf("kind: is %q, must be %s", d.Kind, kind)
		}
	case "":
		if d.Kind != "" {
			return fmt.Errorf("apiVersion: is required with kind %q", d.Kind)
		}
	default:
		return fmt.Errorf("apiVersion: is %q, must be apiserver.config.k8s.io/v1 or left out", d.APIVersion)
	}
	return nil
}
