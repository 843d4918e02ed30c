// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"regexp"
	"strings"
)

// limit bounds a line in bytes.
const limit = 512

// header is the one of klog: severity, date, time, process, file and line. It differs at each start.
var header = regexp.MustCompile(`^[IWEF]\d{4} \S+ +\d+ [^ \]]+\] `)

// tail is a writer that keeps the end of a log. It is not safe for concurrent use.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 2*limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// line returns the last line without its header, or the known beginning of a long line.
func (t *tail) line() string {
	lines := bytes.Split(bytes.TrimSpace(t.kept), []byte{'\n'})
	last := header.ReplaceAllString(string(lines[len(lines)-1]), "")
	return strings.ToValidUTF8(last[:min(len(last), limit)], "")
}
