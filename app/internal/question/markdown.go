// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"io"
)

// WriteFields writes the table of all fields in Markdown.
func WriteFields(w io.Writer) error {
	if _, err := fmt.Fprint(w, "| field | type | meaning |\n| --- | --- | --- |\n"); err != nil {
		return err
	}
	for _, f := range fields {
		meaning := f.Meaning
		if f.Optional {
			meaning += "; may be missing"
		}
		if _, err := fmt.Fprintf(w, "| `%s` | %s | %s |\n", f.Name, f.Type, meaning); err != nil {
			return err
		}
	}
	return nil
}
