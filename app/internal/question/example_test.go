// SPDX-License-Identifier: Apache-2.0

package question_test

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

func ExampleParse() {
	_, err := question.Parse(`kind == "Pod" && phase.startup > 30`)
	fmt.Println(err)

	q, err := question.Parse(`phase.startup > duration("30s")`)
	if err != nil {
		fmt.Println(err)
		return
	}
	slow := &question.Lifecycle{Phases: map[string]time.Duration{"startup": time.Minute}}
	fmt.Println(q.Matches(slow, time.Now()), q.Matches(&question.Lifecycle{}, time.Now()))
	// Output:
	// 1:34: cannot compare duration with int; a length of time is written duration("30s")
	// true false
}
