// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// BenchmarkProblems measures answers about 1,000 objects, of 20 causes and of 1,000, whose changes only the archive
// knows; the first answer and later ones.
func BenchmarkProblems(b *testing.B) {
	for _, causes := range []int{20, 1000} {
		var traces []*span.Trace
		var all []*problems.Failing
		for i := range 1000 {
			of := deployment(fmt.Sprint("ns-", i%50), fmt.Sprint("web-", i))
			f := failing(of, i%60, fmt.Sprint("cause-", i%causes), "cannot pull image web:2 of container app: not found")
			change := changed(fmt.Sprint("change-", i), of, i%60, span.Failed)
			f.Cause = &problems.Cause{TraceID: change.ID.String()}
			traces, all = append(traces, change), append(all, f)
		}
		v := viewtest.New(b)
		v.Put(b, asOf, viewtest.Traces{Finished: traces})
		hub := tracked(all...)
		for query, name := range map[string]string{
			"?limit=1000": "all", "?namespace=ns-7&limit=1000": "namespace", "?uid=ns-7/web-7": "object",
		} {
			b.Run(fmt.Sprintf("%d/%s", causes, name), func(b *testing.B) {
				s := start(b, Options{Access: v.Access, Problems: hub})
				at := time.Now()
				s.get(b, "/api/v1/problems"+query)
				first := time.Since(at)
				size := 0
				for b.Loop() {
					res, body := s.get(b, "/api/v1/problems"+query)
					if size = len(body); res.StatusCode != http.StatusOK {
						b.Fatal(res.StatusCode)
					}
				}
				b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
				b.ReportMetric(float64(size)/1024, "KiB")
			})
		}
	}
}
