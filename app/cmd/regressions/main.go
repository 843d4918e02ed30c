// SPDX-License-Identifier: Apache-2.0

// Command regressions measures how well shifts in synthetic years are found, and prints the rates as a table. Years
// without shifts give the false alarms. The same seeds give the same table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression/regressiontest"
)

func main() {
	seeds := flag.Int("seeds", 200, "the number of years with shifts, and of years without")
	first := flag.Uint64("first", 1, "the first seed")
	page := flag.String("update", "", "a `page` whose table is to be rewritten")
	flag.Parse()
	results := measure(*first, *seeds)
	var table strings.Builder
	regressiontest.Table(&table, results)
	if _, err := io.WriteString(os.Stdout, table.String()); err != nil {
		log.Fatal(err)
	}
	if *page != "" {
		if err := rewrite(*page, table.String()); err != nil {
			log.Fatal(err)
		}
	}
}

// measure returns the results of all seeds in their order.
func measure(first uint64, count int) []regressiontest.Outcome {
	results := make([]regressiontest.Outcome, count)
	next := make(chan int)
	var group sync.WaitGroup
	var progress sync.Mutex
	done := 0
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				results[i] = regressiontest.Measure(first + uint64(i)) //nolint:gosec // i is not negative
				progress.Lock()
				if done++; done%10 == 0 {
					fmt.Fprintf(os.Stderr, "%d of %d seeds\n", done, count)
				}
				progress.Unlock()
			}
		})
	}
	for i := range results {
		next <- i
	}
	close(next)
	group.Wait()
	return results
}

const begin, end = "<!-- make regressions: begin -->\n", "<!-- make regressions: end -->\n"

// rewrite replaces the marked part of a page.
func rewrite(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, has := strings.Cut(rest, end)
	if !ok || !has {
		return errors.New(page + " has no marked part")
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+table+"\n"+end+after), 0o600)
}
