// SPDX-License-Identifier: Apache-2.0

package regression_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/regression/regressiontest"
)

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	for seed := range uint64(1) {
		y := regressiontest.Make(seed, true)
		at := time.Now()
		report := regression.Find(slices.Values(y.Rollups), regression.Options{})
		fmt.Println("seed", seed, "rollups", len(y.Rollups), "lifecycles", y.Lifecycles, "series", report.Series, "regressions", len(report.Regressions), time.Since(at))
		for i := range y.Planted {
			p := &y.Planted[i]
			r := y.Judge(p, report)
			fmt.Printf("  %-24s %-10s %-20s %-12s %s n=%d  %+v", p.Kind, p.Phase, p.Workload, p.Factor.Value, p.From.Format("01-02"), len(p.Samples), r)
			if cut, ok := y.Cut(p); os.Getenv("EXPLORE") == "2" && ok && p.Kind != regressiontest.Drift {
				fmt.Printf("  within 20: %v", y.Judge(p, regression.Find(slices.Values(cut), regression.Options{})).Found)
			}
			fmt.Println()
		}
		for _, r := range report.Regressions {
			fmt.Printf("    %s %s/%s %v since %s until %s n=%d/%d %v..%v %.2f p=%.1e faster=%v ended=%v drift=%v by=%s change=%v", r.Series.Phase, r.Series.Namespace, r.Series.Workload, r.Series.Attribute, r.Since.Format("01-02"), r.Until.Format("01-02"), r.Before.Count, r.After.Count, r.Low, r.High, r.Ratio, r.P, r.Faster, r.Ended, r.Drift, r.By, r.Change.IsValid())
			for _, f := range r.Factors {
				fmt.Printf(" [%v %.2f new=%v later=%v %d/%d p=%.0e]", f.Values, f.Share, f.New, f.Later, f.With, f.Without, f.P)
			}
			fmt.Println()
		}
		y = regressiontest.Make(seed, false)
		fmt.Println("clean:", len(regression.Find(slices.Values(y.Rollups), regression.Options{}).Regressions))
	}
}
