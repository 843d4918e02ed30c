// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// unknownName is the part of SQLite's error with the name of an unknown table or column.
var unknownName = regexp.MustCompile(`no such (table|column): (.+?)( \(\d+\))?$`)

// similar adds the nearest name to SQLite's error for an unknown view or column: of the columns, one of the views
// that the statement names.
func similar(statement string, err error) error {
	found := unknownName.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	names := viewNames()
	of := "the views are " + strings.Join(names, ", ")
	if found[1] == "column" {
		names, of = columnsNamed(statement), "the columns of each view: "+docs.Questions
	}
	unknown := strings.Trim(found[2], "\"")
	if near := nearestName(unknown, names); near != "" {
		of = "did you mean " + near + "?"
	}
	return fmt.Errorf("no such %s: %s: %s", found[1], unknown, of)
}

// nearestName returns the one of names that the caller may have meant, or "". The name may be that of a field in a
// question (phase.pull), or follow that of a table (t.outcome).
func nearestName(unknown string, names []string) string {
	if near := question.Nearest(strings.ReplaceAll(unknown, ".", "_"), names); near != "" {
		return near
	}
	return question.Nearest(unknown[strings.LastIndex(unknown, ".")+1:], names)
}

// columnsNamed returns the columns of the views that the statement names, or of all.
func columnsNamed(statement string) []string {
	statement = strings.ToLower(statement)
	var named, all []string
	for _, v := range views() {
		for _, c := range v.columns {
			all = append(all, c.Name)
			if strings.Contains(statement, v.name) {
				named = append(named, c.Name)
			}
		}
	}
	if named == nil {
		return all
	}
	return named
}
