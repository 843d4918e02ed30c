// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// OTLP over gRPC is one unary call: an HTTP/2 POST of a prefixed message, with the status in the
// trailer. This package serves it as plain HTTP/2. A gRPC server reads the whole message before the
// handler runs, so slow senders would block others, or memory would have no bound.
const (
	typeGRPC   = "application/grpc"
	callExport = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	// prefix is the length of a message's prefix: one byte for compression, four for the length.
	prefix = 5
)

// serveCall responds to a gRPC call.
func (r *Receiver) serveCall(w http.ResponseWriter, req *http.Request) {
	if req.ProtoMajor != 2 || req.Method != http.MethodPost || !isGRPC(req.Header.Get("Content-Type")) {
		r.counters.refused[foreign].Add(1)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		http.Error(w, "this endpoint serves OTLP over gRPC: call "+callExport, http.StatusUnsupportedMediaType)
		return
	}
	answer, no := r.called(w, req)
	h := w.Header()
	h.Set("Content-Type", typeGRPC)
	h.Set("Grpc-Accept-Encoding", "gzip")
	w.WriteHeader(http.StatusOK)
	if no == nil {
		raw, err := proto.Marshal(answer)
		if err == nil {
			//nolint:gosec // a response is small
			_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))))
			//nolint:gosec // protobuf for a gRPC client; a failed write has no other effect
			_, _ = w.Write(raw)
			h.Set(http.TrailerPrefix+"Grpc-Status", "0")
			return
		}
		r.opts.Log.Error("cannot encode the response to an OTLP request", "error", err.Error())
		no = refuseBug()
	}
	r.counters.refused[no.kind].Add(1)
	_ = http.NewResponseController(w).Flush() // puts the status in the trailer, even without a body
	h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(no.code)))
	h.Set(http.TrailerPrefix+"Grpc-Message", percentEncoded(no.message))
	if details, err := proto.Marshal(no.status().Proto()); err == nil && no.after > 0 {
		h.Set(http.TrailerPrefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
}

// isGRPC reports whether a content type is that of gRPC with protobuf.
func isGRPC(contentType string) bool {
	contentType, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	contentType = strings.TrimSpace(contentType)
	return contentType == typeGRPC || contentType == typeGRPC+"+proto"
}

// called checks and reads one call.
func (r *Receiver) called(
	w http.ResponseWriter,
	req *http.Request,
) (answer *coltracepb.ExportTraceServiceResponse, no *refusal) {
	defer r.recovered(&no)
	encoding := strings.ToLower(req.Header.Get("Grpc-Encoding"))
	switch {
	case !r.grpcToken.Admits(req):
		return nil, refuseStranger()
	case req.URL.Path != callExport:
		return nil, refuse(foreign, codes.Unimplemented, http.StatusNotFound,
			"unknown gRPC method: send spans with "+callExport)
	case encoding != "" && encoding != "identity" && encoding != "gzip":
		return nil, refuse(foreign, codes.Unimplemented, http.StatusUnsupportedMediaType,
			fmt.Sprintf("encoding %.80q: compress with gzip or not at all", encoding))
	}
	return r.read(w, req, overGRPC,
		func(in io.Reader) (io.Reader, bool, error) { return r.message(in, encoding == "gzip") })
}

// message reads the prefix of a message. It returns the message and whether it is compressed.
func (r *Receiver) message(in io.Reader, mayBePacked bool) (message io.Reader, packed bool, err error) {
	var head [prefix]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, false, bodyError(err)
	}
	length := binary.BigEndian.Uint32(head[1:])
	switch packed = head[0] == 1; {
	case head[0] > 1 || packed && !mayBePacked:
		return nil, false, fmt.Errorf("%w: the compression flag does not match the grpc-encoding header", errMalformed)
	case int64(length) > int64(r.opts.MaxBytes):
		return nil, false, fmt.Errorf("%w: it has %d bytes, the limit is %d", errTooLarge, length, r.opts.MaxBytes)
	}
	return &sized{in: in, left: int64(length)}, packed, nil
}

// sized reads exactly left bytes. An earlier end is io.ErrUnexpectedEOF.
type sized struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader.
func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// percentEncoded encodes text for the grpc-message header.
func percentEncoded(text string) string {
	var b bytes.Buffer
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
