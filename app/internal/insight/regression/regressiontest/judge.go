// SPDX-License-Identifier: Apache-2.0

package regressiontest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

// Few is the number of samples after a shift within which it must be found.
const Few = 20

// Result says how one shift was found.
type Result struct {
	Found bool
	// First: the true cause is in the first factor. Named: the series or its change says so.
	First bool
	// Named: the change that began it is named; only for shifts that begin with one.
	Named bool
	// Ended: it is known that the shift is over.
	Ended bool
	// Drift: it is known that the shift was slow.
	Drift bool
}

// Judge returns how a report has a shift.
func (y *Year) Judge(p *Planted, report regression.Report) Result {
	var out Result
	for i := range report.Regressions {
		r := &report.Regressions[i]
		if !y.matches(p, r) {
			continue
		}
		out.Found = true
		if len(r.Factors) > 0 && slices.ContainsFunc(r.Factors[0].Values, p.is) {
			out.First = true
		}
		out.Named = out.Named || r.Change.IsValid() && r.Since.Equal(p.From)
		out.Ended, out.Drift = out.Ended || r.Ended, out.Drift || r.Drift
	}
	return out
}

// matches reports whether a regression is that of a planted shift: same phase, same time, and the same workload or a
// series that it touches.
func (y *Year) matches(p *Planted, r *regression.Regression) bool {
	if r.Faster || r.Series.Phase != p.Phase {
		return false
	}
	switch {
	case p.Workload != "":
		if r.Series.Workload != p.Workload {
			return false
		}
	case p.Kind == Node || p.Kind == Zone:
		if r.Series.Attribute.Name == "" && (len(r.Factors) == 0 || !slices.Contains(r.Factors[0].Values, p.Factor)) {
			return false
		}
		if r.Series.Attribute.Name == p.Factor.Name && r.Series.Attribute != p.Factor {
			return false
		}
	}
	until := p.Until
	if p.Kind != Drift {
		until = p.From.Add(5 * week)
		if len(p.Samples) > Few {
			until = later(p.From.Add(3*day), p.Samples[Few-1])
		}
	}
	return !r.Since.Before(p.From.Add(-3*week)) && !r.Since.After(until)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// is reports whether an attribute is the cause. Where each rollout has a new image, one of the neighbours counts, too:
// the place of a shift is uncertain by as much.
func (p *Planted) is(a sample.Attribute) bool {
	if a == p.Factor || a.Name != p.Factor.Name || a.Name != sample.Image {
		return a == p.Factor && a.Name != ""
	}
	return sample.RepositoryOf(a.Value) == sample.RepositoryOf(p.Factor.Value) &&
		distance(tag(a), tag(p.Factor)) <= near
}

// near is the number of rollouts by which an image may be off.
const near = 3

func distance(a, b int) int { return max(a-b, b-a) }

func tag(image sample.Attribute) int {
	n, _ := strconv.Atoi(image.Value[strings.LastIndexByte(image.Value, ':')+1:])
	return n
}

// Cut returns the rollups up to the sample number Few after a shift, and false if there are not so many.
func (y *Year) Cut(p *Planted) ([]sample.Rollup, bool) {
	if len(p.Samples) < Few {
		return nil, false
	}
	last := p.Samples[Few-1]
	n, _ := slices.BinarySearchFunc(y.Rollups, last, func(r sample.Rollup, t time.Time) int {
		if r.Start.After(t) {
			return 1
		}
		return -1
	})
	return y.Rollups[:n], true
}
