// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// hashed replaces the name of a user: equal names have equal hashes.
func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "user-" + hex.EncodeToString(sum[:6])
}

// file is a file of a bundle.
type file struct {
	name string
	text []byte
}

// bundle returns the files of a report: the report as text and as JSON, the server's configuration,
// and its metrics or the reason for their absence. It holds only the gathered facts: no Secret, no
// token, no certificate and no name of a user.
func bundle(r *Report, metrics []byte, metricsErr error) ([]file, error) {
	var text, programs bytes.Buffer
	if err := errors.Join(Print(&text, r), PrintJSON(&programs, r)); err != nil {
		return nil, err
	}
	files := []file{{"report.txt", text.Bytes()}, {"report.json", programs.Bytes()}}
	s := r.Facts.Server
	if !s.Is() {
		return files, nil
	}
	if c := s.Value.From.Configuration; len(c) > 0 {
		var out bytes.Buffer
		if err := json.Indent(&out, c, "", "  "); err != nil {
			return nil, fmt.Errorf("cannot write the server's configuration: %w", err)
		}
		out.WriteByte('\n')
		files = append(files, file{"configuration.json", out.Bytes()})
	}
	if metricsErr != nil {
		return append(files, file{"metrics-missing.txt", []byte(block(metricsErr.Error()) + "\n")}), nil
	}
	return append(files, file{"metrics.txt", metrics}), nil
}

// writeBundle writes files as a compressed archive. The same files give the same bytes.
func writeBundle(w io.Writer, files []file, at time.Time) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for _, f := range files {
		head := &tar.Header{
			Name: "lifeline-doctor/" + f.name, Mode: 0o600, Size: int64(len(f.text)),
			ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		if _, err := archive.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

// saveBundle writes a bundle to a new file that only its owner may read.
func saveBundle(path string, files []file, at time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot write the bundle: %s is there already", path)
	}
	if err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	if err := errors.Join(writeBundle(f, files, at), f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("cannot write the bundle to %s: %w", path, err)
	}
	return nil
}
