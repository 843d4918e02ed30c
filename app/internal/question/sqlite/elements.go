// SPDX-License-Identifier: Apache-2.0

package sqlite

import "github.com/kube-lifeline/lifeline/app/internal/question"

// Elements returns a join that repeats each row of From for each element of a list, and the SQL of that element. A
// lifecycle without elements has one row, with an empty text. The alias distinguishes several lists.
func Elements(f *question.Field, alias string) (join, element string) {
	return " LEFT JOIN " + f.Table + " AS " + alias + " ON " + alias + ".lifecycle = l.id",
		"ifnull(" + alias + "." + f.Column + ", '')"
}
