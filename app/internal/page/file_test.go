// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// TestFile: the policy of a file permits exactly its own script and style, and hostile texts end no element.
func TestFile(t *testing.T) {
	const hostile = `</script></title><script>alert(1)</script>` + "\u202e\n"
	var out bytes.Buffer
	if err := File(&out, hostile, []byte(`{"name":"`+hostile+`"}`)); err != nil {
		t.Fatal(err)
	}
	doc := out.String()
	if strings.Contains(doc, "alert(1)</script>") || strings.Count(doc, "</script") != 2 ||
		strings.Contains(doc, "\u202e") {
		t.Error("a hostile text is in the document")
	}
	for kind, pattern := range map[string]string{
		"script-src": `(?s)<script>(.*?)</script>`, "style-src": `(?s)<style>(.*?)</style>`,
	} {
		inline := regexp.MustCompile(pattern).FindAllStringSubmatch(doc, -1)
		if len(inline) != 1 || len(inline[0][1]) < 1000 {
			t.Fatalf("%s: %d inline elements", kind, len(inline))
		}
		hash := sha256.Sum256([]byte(inline[0][1]))
		want := kind + " &#39;sha256-" + strings.ReplaceAll(
			base64.StdEncoding.EncodeToString(hash[:]),
			"+",
			"&#43;",
		) + "&#39;;"
		if !strings.Contains(doc, want) && !strings.Contains(doc, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	if !strings.Contains(doc, "default-src &#39;none&#39;;") || strings.Contains(doc, "unsafe") {
		t.Error("the policy is not strict")
	}
	if strings.Contains(doc, "<script src") || strings.Contains(doc, "<link") {
		t.Error("the document loads other files")
	}
}
