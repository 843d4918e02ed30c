// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// completePatience bounds the time for the words of one completion.
	completePatience = 800 * time.Millisecond
	// completeSince and completeLimit bound the writes and traces that words come from.
	completeSince = "7d"
	completeLimit = 1000
	// maxWords bounds the words of one completion.
	maxWords = 200
)

// Completer returns words for a shell's completion of arguments. It prints nothing. Without an answer
// of the server it has the words that need none.
type Completer struct {
	Options cli.Options
	Server  cli.Server
	// Namespace limits the names; empty means all namespaces.
	Namespace string
	// IDs also completes trace IDs. Several completes any number of KIND/NAME.
	IDs, Several bool
}

// Objects completes an object as KIND/NAME, or as KIND NAME in two arguments. args are the arguments
// before it. open is true if a word is only a beginning.
func (c *Completer) Objects(ctx context.Context, args []string, begun string) (words []string, open bool) {
	of, _, slash := strings.Cut(begun, "/")
	switch {
	case slash && (len(args) == 0 || c.Several && strings.Contains(args[0], "/")):
		words = c.names(ctx, of, of+"/")
	case len(args) == 0:
		if words = c.kinds(); c.IDs && strings.Trim(begun, "0123456789abcdef") == "" {
			words = append(words, c.traceIDs(ctx)...)
		}
	case len(args) == 1 && !strings.Contains(args[0], "/"):
		words = c.names(ctx, args[0], "")
	case c.Several && strings.Contains(args[0], "/"):
		for _, of := range c.kinds() {
			words = append(words, of+"/")
		}
		open = true
	}
	return beginning(words, begun), open
}

// Namespaces completes the name of a namespace.
func (c *Completer) Namespaces(ctx context.Context, begun string) []string {
	var words []string
	c.ask(ctx, func(ctx context.Context, server *client.Client) {
		if page, err := server.Writes(ctx, client.WriteQuery{Since: completeSince, Limit: completeLimit}); err == nil {
			for _, w := range page.Writes {
				words = append(words, w.Object.Namespace)
			}
		}
	})
	slices.Sort(words)
	return beginning(words, begun)
}

// kinds returns the known kinds, as in "deployment".
func (c *Completer) kinds() []string {
	var words []string
	for _, k := range kind.All() {
		words = append(words, strings.ToLower(k.Kind.Kind))
	}
	slices.Sort(words)
	return words
}

// names returns the names of a kind's objects, with a prefix, the latest written first.
func (c *Completer) names(ctx context.Context, of, prefix string) []string {
	o := c.Options
	o.Mapper = nil // the cluster may be slow
	target, err := o.Target(of+"/x", false)
	if err != nil {
		return nil
	}
	ref := target.Ref(c.Namespace)
	ref.Name = ""
	var words []string
	c.ask(ctx, func(ctx context.Context, server *client.Client) {
		page, err := server.Writes(ctx, client.WriteQuery{Since: completeSince, Object: ref, Limit: completeLimit})
		if err != nil {
			return
		}
		for _, w := range page.Writes {
			if isWord(w.Object.Name) {
				words = append(words, prefix+w.Object.Name)
			}
		}
	})
	return words
}

// traceIDs returns the first digits of the latest traces, each with a description.
func (c *Completer) traceIDs(ctx context.Context) []string {
	var words []string
	c.ask(ctx, func(ctx context.Context, server *client.Client) {
		page, err := server.List(ctx, client.Query{
			Since: completeSince, Limit: maxWords, Object: object.Ref{Namespace: c.Namespace},
		})
		if err != nil {
			return
		}
		for i := range page.Traces {
			s := &page.Traces[i]
			if id := s.TraceID[:min(8, len(s.TraceID))]; isWord(id) {
				words = append(words, id+"\t"+plain(describe(s)))
			}
		}
	})
	return words
}

func describe(s *api.Summary) string {
	if s.Object == nil {
		return s.Command
	}
	return strings.TrimSpace(s.Verb + " " + s.Object.Kind.Kind + " " + s.Object.Name)
}

// ask calls f with the server, if one is selected.
func (c *Completer) ask(ctx context.Context, f func(context.Context, *client.Client)) {
	ctx, cancel := context.WithTimeout(ctx, completePatience)
	defer cancel()
	server, err := c.Options.Client(c.Server)
	if err != nil || server == nil {
		return
	}
	defer server.Close()
	server.Patience = 0
	f(ctx, server)
}

// beginning returns the words that begin with a text, each once and at most maxWords.
func beginning(words []string, begun string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, w := range words {
		if len(out) < maxWords && strings.HasPrefix(w, begun) && isWord(strings.Split(w, "\t")[0]) && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// isWord reports whether a text of a server is harmless as a word of a shell.
func isWord(text string) bool {
	return text != "" && strings.Trim(text, wordCharacters) == "" && text[0] != '-'
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/"

// plain replaces the characters of a description that could mean something to a shell.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || strings.ContainsRune(wordCharacters, r) {
			return r
		}
		return '_'
	}, object.Bound(text))
}
