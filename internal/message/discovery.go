// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strings"
)

// groupVersion matches the start of an API's part in the list of APIs without an answer.
var groupVersion = regexp.MustCompile(`(?:^|, )[a-z0-9]+(?:[.-][a-z0-9]+)*/v[0-9]+(?:(?:alpha|beta)[0-9]+)?: `)

// cleanAPIs cleans a list of APIs with their errors: "GROUP/VERSION: ERROR, …". After a withheld error, any text could
// look like an API.
func cleanAPIs(text string, l level) string {
	var out strings.Builder
	starts := groupVersion.FindAllStringIndex(text, maxParts)
	if len(starts) == 0 || starts[0][0] != 0 {
		return Withheld
	}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		why := l.clean(text[at[1]:end])
		out.WriteString(text[at[0]:at[1]] + why)
		if strings.Contains(why, Withheld) {
			break
		}
	}
	return out.String()
}
