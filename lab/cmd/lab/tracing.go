// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/lab"
)

// tracingUsage explains tracingFlag.
const tracingUsage = "OTLP gRPC receiver (no TLS) for the spans of etcd, kube-apiserver, kubelet and " +
	"containerd, or of the COMPONENT (kube-scheduler with --scheduler), " +
	"and the share of the traces that it begins (default 100%); \"none\" takes a component out; may be " +
	"repeated, the last word counts"

// tracingFlag reads [COMPONENT=]HOST:PORT[@RATE%] or [COMPONENT=]none into
// lab.Options.Tracing.
type tracingFlag struct {
	to *map[lab.Component]lab.Tracing
}

// Type implements pflag.Value.
func (tracingFlag) Type() string { return "[COMPONENT=]HOST:PORT[@RATE%]" }

// String implements pflag.Value.
func (f tracingFlag) String() string {
	if f.to == nil {
		return ""
	}
	var all []string
	for _, component := range slices.Sorted(maps.Keys(*f.to)) {
		t := (*f.to)[component]
		rate := strconv.FormatFloat(float64(t.SamplingRatePerMillion)/(lab.EveryTrace/100), 'f', -1, 64)
		all = append(all, fmt.Sprintf("%s=%s@%s%%", component, t.Endpoint, rate))
	}
	return strings.Join(all, " ")
}

// Set implements pflag.Value.
func (f tracingFlag) Set(text string) error {
	these := lab.Traced()
	if name, rest, ok := strings.Cut(text, "="); ok {
		if these = append(these, lab.Scheduler); !slices.Contains(these, lab.Component(name)) {
			return fmt.Errorf("%q sends no spans: want one of %v", name, these)
		}
		these, text = []lab.Component{lab.Component(name)}, rest
	}
	if text == "none" {
		maps.DeleteFunc(
			*f.to,
			func(component lab.Component, _ lab.Tracing) bool { return slices.Contains(these, component) },
		)
		return nil
	}
	t, err := parseTracing(text)
	if err != nil {
		return err
	}
	if *f.to == nil {
		*f.to = map[lab.Component]lab.Tracing{}
	}
	maps.Copy(*f.to, t.Of(these...))
	return nil
}

func parseTracing(text string) (lab.Tracing, error) {
	endpoint, rate, given := strings.Cut(text, "@")
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		return lab.Tracing{}, fmt.Errorf("cannot read the receiver %q: want HOST:PORT", endpoint)
	}
	t := lab.Tracing{Endpoint: endpoint, SamplingRatePerMillion: lab.EveryTrace}
	if !given {
		return t, nil
	}
	number, isPercent := strings.CutSuffix(rate, "%")
	percent, err := strconv.ParseFloat(number, 64)
	// Not a number is neither more nor less than anything.
	if err != nil || !isPercent || !(percent >= 0 && percent <= 100) {
		return lab.Tracing{}, fmt.Errorf("cannot read the rate %q: want a share from 0%% to 100%%", rate)
	}
	t.SamplingRatePerMillion = int32(percent * lab.EveryTrace / 100)
	return t, nil
}
