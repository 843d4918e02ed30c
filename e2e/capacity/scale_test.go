// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/syntheticapi"
)

// scaleVariable names the variable with the size of the cluster and of the churn, such as
// "nodes=500,pods=15000,for=1m,keep=/tmp/capacity". Other fields have the values of the run.
const scaleVariable = "LIFELINE_CAPACITY"

// scale is the size of the cluster, and the rate and the length of its churn.
type scale struct {
	nodes, pods, deployments, namespaces int
	// broken is the number of Deployments that lack one of so many images.
	broken, causes int
	// rate is the number of Pods that are replaced each second.
	rate int
	// length is the time of the churn, and quiet the time before it.
	length, quiet time.Duration
	// pace is the factor of the times in a rollout.
	pace float64
	// keep is a directory for the log and for profiles; empty for none.
	keep string
}

var (
	small = scale{
		nodes: 50, pods: 1_000, deployments: 20, namespaces: 5, broken: 40, causes: 4, rate: 25, pace: 0.4,
		length: 10 * time.Second, quiet: 2 * time.Second,
	}
	full = scale{
		nodes: 5_000, pods: 150_000, deployments: 1_500, namespaces: 100, broken: 1_000, causes: 20, rate: 100, pace: 1,
		length: 2 * time.Minute, quiet: 10 * time.Second,
	}
)

// cluster is the size of the generated cluster.
func (s scale) cluster() syntheticapi.Size {
	return syntheticapi.Size{
		Nodes:       s.nodes,
		Namespaces:  s.namespaces,
		Deployments: s.deployments,
		Pods:        s.pods / s.deployments,
		Broken:      s.broken,
		Causes:      s.causes,
		Pace:        s.pace,
	}
}

// parseScale reads the fields of text into s.
func parseScale(s scale, text string) (scale, error) {
	numbers := map[string]*int{
		"nodes": &s.nodes, "pods": &s.pods, "deployments": &s.deployments, "namespaces": &s.namespaces, "rate": &s.rate,
		"broken": &s.broken, "causes": &s.causes,
	}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		var err error
		switch {
		case text == "":
		case name == "keep":
			s.keep = value
		case name == "for":
			s.length, err = time.ParseDuration(value)
		case numbers[name] != nil:
			if *numbers[name], err = strconv.Atoi(value); err == nil && *numbers[name] < 1 {
				err = errors.New("must be positive")
			}
		default:
			err = errors.New("no such field")
		}
		if err != nil {
			return s, fmt.Errorf("cannot read %q in %s: %w", field, scaleVariable, err)
		}
	}
	return s, nil
}

func TestParseScale(t *testing.T) {
	larger := small
	larger.pods, larger.length, larger.keep = 2000, time.Minute, "/tmp/x"
	for text, c := range map[string]struct {
		reason string
		want   scale
		fails  bool
	}{
		"":                             {reason: "the size of the run", want: small},
		"pods=2000,for=1m,keep=/tmp/x": {reason: "named fields", want: larger},
		"pods=-1":                      {reason: "no negative number", fails: true},
		"pod=1":                        {reason: "no other field", fails: true},
		"for=1":                        {reason: "a time has a unit", fails: true},
	} {
		got, err := parseScale(small, text)
		if (err != nil) != c.fails {
			t.Errorf("%q: %s: error %v", text, c.reason, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(scale{})); !c.fails && diff != "" {
			t.Errorf("%q: %s (-want +got):\n%s", text, c.reason, diff)
		}
	}
}
