// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The encodings of OTLP over HTTP.
const (
	typeProto = "application/x-protobuf"
	typeJSON  = "application/json"
)

// serveRequest responds in the encoding of the request.
func (r *Receiver) serveRequest(w http.ResponseWriter, req *http.Request) {
	answer, no := r.posted(w, req)
	if no != nil {
		r.counters.refused[no.kind].Add(1)
	}
	var message proto.Message = answer
	code, form := http.StatusOK, typeOf(req)
	if no != nil {
		code, message = no.http, no.status().Proto()
		if form != typeProto {
			form = typeJSON // readable for a person with curl
		}
		if no.kind != full { // the rest of the body stays unread
			w.Header().Set("Connection", "close")
		}
		if after := no.retryAfter(); after != "" {
			w.Header().Set("Retry-After", after)
		}
		switch no.http {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", http.MethodPost)
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
	}
	encode := proto.Marshal
	if form == typeJSON {
		encode = protojson.Marshal
	}
	raw, err := encode(message)
	if err != nil {
		r.opts.Log.Error("cannot encode the response to an OTLP request", "error", err.Error())
		code, raw = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", form)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(raw) // a failed write has no other effect
}

// posted checks and reads one request.
func (r *Receiver) posted(
	w http.ResponseWriter,
	req *http.Request,
) (answer *coltracepb.ExportTraceServiceResponse, no *refusal) {
	defer r.recovered(&no)
	if no := r.accepts(req); no != nil {
		return nil, no
	}
	how := overHTTP
	if typeOf(req) == typeJSON {
		how = overHTTPJSON
	}
	packed := strings.EqualFold(req.Header.Get("Content-Encoding"), "gzip")
	return r.read(w, req, how, func(in io.Reader) (io.Reader, bool, error) { return in, packed, nil })
}

// accepts refuses a request that exports no spans, before its body is read.
func (r *Receiver) accepts(req *http.Request) *refusal {
	const no = codes.InvalidArgument
	switch encoding := strings.ToLower(req.Header.Get("Content-Encoding")); {
	case !r.httpToken.Admits(req):
		return refuseStranger()
	case req.URL.Path != r.opts.Path:
		return refuse(foreign, codes.NotFound, http.StatusNotFound, "unknown path: post spans to "+r.opts.Path)
	case req.Method != http.MethodPost:
		return refuse(foreign, codes.Unimplemented, http.StatusMethodNotAllowed,
			fmt.Sprintf("method %.20q: spans are sent with POST", req.Method))
	case req.Header.Get("Origin") != "":
		return refuse(foreign, codes.PermissionDenied, http.StatusForbidden, "web pages cannot send spans here")
	case typeOf(req) == "":
		return refuse(foreign, no, http.StatusUnsupportedMediaType,
			fmt.Sprintf("content type %.80q: send %s or %s", req.Header.Get("Content-Type"), typeProto, typeJSON))
	case encoding != "" && encoding != "identity" && encoding != "gzip":
		return refuse(foreign, no, http.StatusUnsupportedMediaType,
			fmt.Sprintf("content encoding %.80q: compress with gzip or not at all", encoding))
	case req.ContentLength > int64(r.opts.MaxBytes):
		return refuseError(
			fmt.Errorf("%w: it has %d bytes, the limit is %d", errTooLarge, req.ContentLength, r.opts.MaxBytes),
		)
	}
	return nil
}

// typeOf returns the encoding of a request; "" if OTLP has no such encoding.
func typeOf(req *http.Request) string {
	name, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || name != typeProto && name != typeJSON {
		return ""
	}
	return name
}
