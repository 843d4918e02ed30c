// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The paths of the operations. Client and server are of the same version or of neighbours.
const (
	pathInfo   = "/v1/info"
	pathTraces = "/v1/traces"
	pathBackup = "/v1/backup"
	pathCopy   = "/v1/copy"
	pathForget = "/v1/forget"
	pathPin    = "/v1/pin"
)

const (
	// trailerResult and trailerProblem follow a stream: exactly one of them is set.
	trailerResult  = "Lifeline-Result"
	trailerProblem = "Lifeline-Problem"
	// maxRequest bounds the body of a request without a line, in bytes.
	maxRequest = 64 << 10
	// grace is the time for running operations at the end of the server.
	grace = 2 * time.Second
)

// info describes the server.
type info struct {
	Version string `json:"version"`
	Cluster string `json:"cluster"`
}

// request is the body of a request. Each operation uses its own fields.
type request struct {
	Path      string `json:"path,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Trace     string `json:"trace,omitempty"`
	On        bool   `json:"on,omitempty"`
}

// problem is the body of an error response. Kind names an error for callers to branch on.
type problem struct {
	Message string `json:"message"`
	Kind    string `json:"kind,omitempty"`
}

// kinds are the errors with a kind.
var kinds = map[string]error{
	"damaged":     document.ErrDamaged,
	"notFound":    store.ErrNotFound,
	"full":        store.ErrFull,
	"readOnly":    store.ErrReadOnly,
	"unavailable": store.ErrUnavailable,
	"exists":      fs.ErrExist,
}

func problemOf(err error) problem {
	p := problem{Message: err.Error()}
	for kind, of := range kinds {
		if errors.Is(err, of) {
			p.Kind = kind
		}
	}
	return p
}

// Serve serves the operations on ln until ctx ends, and closes ln. Running operations end then.
func Serve(ctx context.Context, ln net.Listener, o Operations, version string) error {
	return httpserve.HTTP{
		Doing:    "offer archive operations",
		Handler:  Handler(o, version),
		Idle:     time.Minute,
		Grace:    grace,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}.Serve(ctx, ln)
}

// Handler returns the operations as HTTP. It must not be reachable over a network.
func Handler(o Operations, version string) http.Handler {
	h := &handler{o: o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathInfo, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, info{Version: version, Cluster: o.Cluster()}, nil)
	})
	mux.HandleFunc("GET "+pathTraces, h.export)
	mux.HandleFunc("POST "+pathTraces, h.importLine)
	mux.HandleFunc("POST "+pathBackup, h.backup)
	mux.HandleFunc("GET "+pathCopy, h.copy)
	mux.HandleFunc("POST "+pathForget, h.forget)
	mux.HandleFunc("POST "+pathPin, h.pin)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, nil, errors.New("this server is of another version and does not offer the operation"))
	})
	return mux
}

type handler struct{ o Operations }

// answer writes a result or an error.
func answer(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		result = problemOf(err)
		w.WriteHeader(http.StatusInternalServerError)
	}
	_ = json.NewEncoder(w).Encode(result) // the client has gone
}

// note logs an operation that succeeded. The client reports a failure.
func note(done string, err error, args ...any) {
	if err == nil {
		slog.Default().Info(done, args...)
	}
}

// read reads the body of a request.
func read(w http.ResponseWriter, r *http.Request) (request, bool) {
	var in request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in)
	if err != nil {
		answer(w, nil, err)
	}
	return in, err == nil
}

func (h *handler) export(w http.ResponseWriter, r *http.Request) {
	var f Filter
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := r.URL.Query().Get(name); text != "" {
			var err error
			if *to, err = time.Parse(time.RFC3339Nano, text); err != nil {
				answer(w, nil, err)
				return
			}
		}
	}
	f.Namespace, f.ID = r.URL.Query().Get("namespace"), r.URL.Query().Get("id")
	stream(w, func(to io.Writer) (Exported, error) { return h.o.Export(r.Context(), f, to) })
}

func (h *handler) copy(w http.ResponseWriter, r *http.Request) {
	stream(w, func(to io.Writer) (Exported, error) { return h.o.Copy(r.Context(), to) })
}

// stream writes data, and its result or error in a trailer.
func stream(w http.ResponseWriter, write func(io.Writer) (Exported, error)) {
	w.Header().Set("Trailer", trailerResult+", "+trailerProblem)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	result, err := write(w)
	name, value := trailerResult, any(result)
	if err != nil {
		name, value = trailerProblem, problemOf(err)
	}
	text, err := json.Marshal(value)
	if err == nil {
		w.Header().Set(name, string(text))
	}
}

func (h *handler) importLine(w http.ResponseWriter, r *http.Request) {
	line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxLine))
	if err != nil {
		answer(w, nil, err)
		return
	}
	out, err := h.o.Import(r.Context(), line)
	answer(w, out, err)
}

func (h *handler) backup(w http.ResponseWriter, r *http.Request) {
	if in, ok := read(w, r); ok {
		out, err := h.o.Backup(r.Context(), in.Path)
		note("the archive was copied", err, "path", in.Path)
		answer(w, out, err)
	}
}

func (h *handler) forget(w http.ResponseWriter, r *http.Request) {
	if in, ok := read(w, r); ok {
		out, err := h.o.Forget(r.Context(), in.Namespace)
		note("a namespace was removed from the archive", err, "namespace", in.Namespace, "traces", out.Traces)
		answer(w, out, err)
	}
}

func (h *handler) pin(w http.ResponseWriter, r *http.Request) {
	if in, ok := read(w, r); ok {
		out, err := h.o.Pin(r.Context(), in.Trace, in.On)
		note("a trace was pinned or unpinned", err, "trace", out.TraceID, "pinned", in.On)
		answer(w, out, err)
	}
}
