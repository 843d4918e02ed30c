// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// bandwidthPath is where the limit is read and set, in bytes a second.
const bandwidthPath = "/lab/bandwidth"

// handler returns a registry that keeps blobs in dir, and manifests in memory.
func handler(dir string) http.Handler {
	link := newBandwidth()
	mux := http.NewServeMux()
	mux.Handle("/", link.throttle(registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)),
		registry.Logger(log.Default()),
	)))
	mux.HandleFunc("GET "+bandwidthPath, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, link.get())
	})
	mux.HandleFunc("PUT "+bandwidthPath, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(body)), 10, 64)
		if err != nil || limit < 0 {
			http.Error(w, fmt.Sprintf("%q is no number of bytes a second", body), http.StatusBadRequest)
			return
		}
		link.set(limit)
	})
	return mux
}
