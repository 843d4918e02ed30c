// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

func ExampleDialect() {
	q, err := question.Parse(`kind == "Pod" && start > now - duration("1h")`)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := q.Condition(sqlite.Dialect{}, time.Unix(7200, 0), 1)
	fmt.Println("SELECT l.id FROM " + sqlite.From(c.SQL) + " WHERE " + c.SQL)
	fmt.Println(c.Args...)
	// Output:
	// SELECT l.id FROM lifecycles AS l WHERE ((l.kind = ?1) AND (l.start > ?2))
	// Pod 3600000000000
}
