// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
)

//go:embed file
var parts embed.FS

// File writes one HTML document that shows data without a server and without a network. Its policy permits
// its own script and its own style, by their hashes, and no request. The title may have any text. The data are
// JSON for the script; the document has them compressed, in base64, so no text in them can end an element.
func File(w io.Writer, title string, data []byte) error {
	script, err := parts.ReadFile("file/trace.js")
	if err != nil {
		return fmt.Errorf("cannot read the script of the page: %w", err)
	}
	style, err := parts.ReadFile("file/trace.css")
	if err != nil {
		return fmt.Errorf("cannot read the style of the page: %w", err)
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("cannot compress the trace: %w", err)
	}
	if _, err := zip.Write(data); err != nil {
		return fmt.Errorf("cannot compress the trace: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("cannot compress the trace: %w", err)
	}
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; "+
		"form-action 'none'", hashOf(script), hashOf(style))
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<div id="app"></div>
<noscript>This file needs JavaScript.</noscript>
<script type="text/plain" id="data">%s</script>
<script>%s</script>
</body>
</html>
`, html.EscapeString(policy), html.EscapeString(oneLine(title)), style,
		base64.StdEncoding.EncodeToString(packed.Bytes()), script)
	if err != nil {
		return fmt.Errorf("cannot write the page: %w", err)
	}
	return nil
}

// hashOf returns the source of a policy for an inline element.
func hashOf(content []byte) string {
	hash := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(hash[:])
}

// oneLine removes the characters that a title cannot show.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}
