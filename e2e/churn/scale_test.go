// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scaleVariable names the variable that says how large and how long, such as
// "nodes=500,pods=5000,for=1h,every=15s,keep=/tmp/churn". What it leaves out is
// as in small.
const scaleVariable = "LIFELINE_CHURN"

// scale is how large the cluster is, and for how long and how fast its Pods are
// replaced.
type scale struct {
	nodes, pods, deployments, namespaces int
	// length is the whole. A rollout begins no sooner than every after the one
	// before it, and not before that is complete; sample is the time between
	// two samples.
	length, every, sample time.Duration
	// keep is a directory that gets samples, the log and profiles; empty for
	// none.
	keep string
}

var small = scale{
	nodes:       20,
	pods:        100,
	deployments: 10,
	namespaces:  3,
	length:      time.Minute,
	every:       2 * time.Second,
	sample:      2 * time.Second,
}

// each is how many Pods a Deployment has.
func (s scale) each() int { return s.pods / s.deployments }

func parseScale(text string) (scale, error) {
	s := small
	numbers := map[string]*int{
		"nodes":       &s.nodes,
		"pods":        &s.pods,
		"deployments": &s.deployments,
		"namespaces":  &s.namespaces,
	}
	times := map[string]*time.Duration{"for": &s.length, "every": &s.every, "sample": &s.sample}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		var err error
		switch {
		case text == "":
		case name == "keep":
			s.keep = value
		case numbers[name] != nil:
			if *numbers[name], err = strconv.Atoi(value); err == nil && *numbers[name] < 1 {
				err = errors.New("must be positive")
			}
		case times[name] != nil:
			if *times[name], err = time.ParseDuration(value); err == nil && *times[name] <= 0 {
				err = errors.New("must be positive")
			}
		default:
			err = errors.New("no such field")
		}
		if err != nil {
			return s, fmt.Errorf("cannot read %q in %s: %w", field, scaleVariable, err)
		}
	}
	if s.each() < 1 || s.deployments < s.namespaces {
		return s, fmt.Errorf(
			"cannot use %s: %d Pods of %d Deployments in %d namespaces: want a Pod for each, and a Deployment in each",
			scaleVariable,
			s.pods,
			s.deployments,
			s.namespaces,
		)
	}
	return s, nil
}

func TestParseScale(t *testing.T) {
	large := small
	large.nodes, large.length, large.keep = 500, time.Hour, "/tmp/x"
	for text, c := range map[string]struct {
		reason string
		want   scale
		fails  bool
	}{
		"":                             {reason: "what is left out is small", want: small},
		"nodes=500,for=1h,keep=/tmp/x": {reason: "what is named is taken", want: large},
		"nods=1":                       {reason: "a field with a typo would be ignored", fails: true},
		"for=1":                        {reason: "a duration has a unit", fails: true},
		"every=0s":                     {reason: "a ticker of zero panics", fails: true},
		"pods=3,deployments=7":         {reason: "each Deployment has a Pod", fails: true},
		"deployments=2,namespaces=5":   {reason: "each namespace has a Deployment", fails: true},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := parseScale(text)
			if (err != nil) != c.fails {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(scale{})); !c.fails && diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
