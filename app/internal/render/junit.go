// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The elements of JUnit's report that CI systems read.
type (
	junitReport struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
	}
)

// JUnit writes the traces as a JUnit report: a suite for each trace, with a test for each changed object.
// A test fails if its object has failed, or has not converged by o.Now.
func JUnit(w io.Writer, traces []*span.Trace, o Options) error {
	var report junitReport
	for _, t := range traces {
		root := t.Root()
		if root == nil {
			continue
		}
		suite := junitSuite{Name: what(root, object.Ref{}, true), Time: inSeconds(root, o.Now)}
		for _, s := range changedObjects(t) {
			c := junitCase{Name: objectText(s.Object), Class: "lifeline." + t.ID.String(), Time: inSeconds(s, o.Now)}
			if state := outcomeText(s); state != string(span.Converged) && state != string(span.Deleted) &&
				state != "" {
				message := cmp.Or(reasonOf(t, s), s.Message, t.Reason)
				c.Failure = &junitFailure{Message: escape(message), Type: state}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Tests = len(suite.Cases)
		report.Suites = append(report.Suites, suite)
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the JUnit report: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("cannot write the JUnit report: %w", err)
	}
	return nil
}
