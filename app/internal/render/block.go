// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"fmt"
	"io"
)

// Block is a paragraph about one thing, with a short text at its left. All texts are escaped.
type Block struct {
	// Left is a short text such as an age.
	Left string
	// Title is the first sentence.
	Title string
	// Details are further sentences.
	Details []string
	// Commands are never broken, so that they can be copied.
	Commands []string
}

// minText is the least width of the text of a block, in cells.
const minText = 30

// Blocks writes blocks with an empty line between them. Width is in cells; 0 breaks no line.
func Blocks(w io.Writer, blocks []Block, width int, color bool) error {
	left := 0
	for i := range blocks {
		left = max(left, cells(blocks[i].Left))
	}
	left += 2
	room := 1 << 20
	if width > 0 {
		room = max(minText, width-left)
	}
	out := bufio.NewWriter(w)
	for i := range blocks {
		b := &blocks[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		margin := piece{pad(b.Left, left), yellow}
		add := func(text string, of style) {
			fmt.Fprintln(out, line{margin, {text, of}}.string(color))
			margin = piece{pad("", left), plain}
		}
		for _, part := range wrap(b.Title, room) {
			add(part, bold)
		}
		for _, text := range b.Details {
			for _, part := range wrap(text, room) {
				add(part, plain)
			}
		}
		for _, text := range b.Commands {
			add(text, plain)
		}
	}
	return out.Flush()
}
