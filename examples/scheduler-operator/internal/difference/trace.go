// SPDX-License-Identifier: Apache-2.0

// Package difference compares the scheduler's spans of two traces, plugin by plugin.
package difference

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxTrace limits the size of a trace in bytes.
	maxTrace = 1 << 30
	// maxDepth limits the levels from an attempt to a plugin. Invalid traces may have cycles.
	maxDepth = 16
	// spanAttempt is the name of the span of a scheduling attempt.
	spanAttempt = "scheduling attempt"
)

// document has the used fields of OTLP in JSON.
type document struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []span `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type span struct {
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string `json:"name"`
	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			StringValue string `json:"stringValue"`
			IntValue    string `json:"intValue"`
		} `json:"value"`
	} `json:"attributes"`
}

// text returns an attribute, or an empty string.
func (s *span) text(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// number returns an attribute. ok is false if the span has none.
func (s *span) number(key string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s.text(key), 10, 64)
	return n, err == nil
}

// bound reports whether the span is an attempt that bound a Pod.
func (s *span) bound() bool {
	return s.Name == spanAttempt && s.text("k8s.scheduler.outcome") == "bound"
}

// inBound reports whether the span is below an attempt that bound a Pod.
func (s *span) inBound(spans map[string]*span) bool {
	for range maxDepth {
		if s = spans[s.Parent]; s == nil || s.Name == spanAttempt {
			return s != nil && s.bound()
		}
	}
	return false
}

// Attempts are figures of the scheduling attempts in one trace that bound a Pod.
type Attempts struct {
	// nodes has the number of Pods on each node.
	nodes map[string]int
	// plugins are by the name of their span, such as "Score NodeResourcesFit".
	plugins map[string]*plugin
}

// plugin has the sums over the attempts that bound a Pod.
type plugin struct {
	rejected         int64
	scored, second   int64
	scores, runnerUp int64
}

// Read reads a trace as `lifeline trace -o json` writes it.
func Read(r io.Reader) (Attempts, error) {
	var d document
	if err := json.NewDecoder(io.LimitReader(r, maxTrace)).Decode(&d); err != nil {
		return Attempts{}, fmt.Errorf("cannot read the trace as OTLP in JSON: %w", err)
	}
	var all []*span
	spans := map[string]*span{}
	for _, resource := range d.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for i := range scope.Spans {
				s := &scope.Spans[i]
				all, spans[s.ID] = append(all, s), s
			}
		}
	}
	out := Attempts{map[string]int{}, map[string]*plugin{}}
	for _, s := range all {
		out.add(s, spans)
	}
	if len(out.nodes) == 0 {
		return out, fmt.Errorf("the trace has no span %q of a bound Pod: use a scheduler with spans", spanAttempt)
	}
	return out, nil
}

func (a *Attempts) add(s *span, spans map[string]*span) {
	if s.bound() {
		a.nodes[s.text("k8s.node.name")]++
	}
	name := s.text("k8s.scheduler.plugin")
	if name == "" || !strings.HasPrefix(s.Name, "Filter ") && !strings.HasPrefix(s.Name, "Score ") {
		return
	}
	if !s.inBound(spans) {
		return
	}
	p := a.plugins[s.Name]
	if p == nil {
		p = &plugin{}
		a.plugins[s.Name] = p
	}
	n, _ := s.number("k8s.scheduler.nodes.rejected")
	p.rejected += n
	if n, ok := s.number("k8s.scheduler.score"); ok {
		p.scored, p.scores = p.scored+1, p.scores+n
	}
	if n, ok := s.number("k8s.scheduler.score.second"); ok {
		p.second, p.runnerUp = p.second+1, p.runnerUp+n
	}
}
