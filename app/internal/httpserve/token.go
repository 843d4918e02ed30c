// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Bounds of a token file, in bytes.
const (
	minToken = 16
	maxToken = 4 << 10
)

// Token admits requests with the header "Authorization: Bearer TOKEN". The token is in a file. The
// file is read at each request, and can be replaced at any time. While it is unusable, the last
// usable token stays valid. A nil Token admits every request. It is safe for concurrent use.
type Token struct {
	file string
	name string
	log  *slog.Logger

	mu sync.Mutex
	// digest is the hash of the last usable token.
	digest [sha256.Size]byte
	// problem is the logged error of the file; empty without an error.
	problem string
}

// Token returns the token that the endpoint requires; nil means none. Its error names the file.
func (e Endpoint) Token(p Purpose) (*Token, error) {
	if e.TokenFile == "" {
		return nil, nil
	}
	t := &Token{file: e.TokenFile, name: p.Name, log: p.Log}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if t.digest, err = readToken(t.file); err != nil {
		return nil, fmt.Errorf("cannot listen for %s: %w", p.Name, err)
	}
	if public(t.file) {
		t.log.Warn("every user of this machine can read the token; restrict the file's mode (chmod o-r)",
			"for", t.name, "file", t.file)
	}
	return t, nil
}

// Admits reports whether the request has the token.
func (t *Token) Admits(r *http.Request) bool {
	if t == nil {
		return true
	}
	want := t.current()
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// current returns the digest of the file's token, or of the last usable one.
func (t *Token) current() [sha256.Size]byte {
	digest, err := readToken(t.file)
	t.mu.Lock()
	defer t.mu.Unlock()
	problem := ""
	if err == nil {
		t.digest = digest
	} else if problem = err.Error(); problem != t.problem {
		t.log.Warn("cannot renew token; the last one stays in use", "for", t.name, "error", problem)
	}
	t.problem = problem
	return t.digest
}

// readToken returns the digest of the token in a file.
func readToken(file string) (digest [sha256.Size]byte, err error) {
	token, err := ReadToken(file)
	if err != nil {
		return digest, err
	}
	return sha256.Sum256([]byte(token)), nil
}

// ReadToken returns the token in a file, for clients. Its errors name the file, never the token.
func ReadToken(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("cannot use the token file %s: %w", file, err)
	}
	return token, nil
}

func checkToken(token string) error {
	switch {
	case token == "":
		return errors.New("it is empty")
	case len(token) < minToken:
		return fmt.Errorf("its token has %d bytes, but at least %d are required", len(token), minToken)
	case len(token) > maxToken:
		return fmt.Errorf("it has more than %d bytes", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("its token must be one line of printable ASCII without spaces")
	}
	return nil
}

// public reports whether every user of the machine can read a file.
func public(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode()&0o004 != 0
}
