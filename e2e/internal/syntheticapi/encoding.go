// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The media types of the API.
const (
	jsonType  = "application/json"
	protoType = "application/vnd.kubernetes.protobuf"
)

// protoPrefix is the start of every object in protobuf.
var protoPrefix = []byte("k8s\x00")

// format is the form of an answer, by the Accept header of the request.
type format struct {
	proto bool
	// metadata means that only the metadata of objects is wanted.
	metadata bool
	// discovery means that the aggregated discovery is wanted.
	discovery bool
}

// formatOf returns the first wanted format that the server has; ok is false without one.
func formatOf(r *http.Request) (f format, ok bool) {
	accept := r.Header.Get("Accept")
	if accept == "" {
		return format{}, true
	}
	for wanted := range strings.SplitSeq(accept, ",") {
		parts := strings.Split(strings.ReplaceAll(wanted, " ", ""), ";")
		f := format{proto: parts[0] == protoType}
		if !f.proto && parts[0] != jsonType && parts[0] != "*/*" {
			continue
		}
		known := true
		for _, p := range parts[1:] {
			switch {
			case p == "as=APIGroupDiscoveryList":
				f.discovery = true
			case strings.HasPrefix(p, "as=PartialObjectMetadata"):
				f.metadata = true
			case strings.HasPrefix(p, "as="), p == "v=v2beta1":
				known = false
			}
		}
		if known && !(f.discovery && f.proto) {
			return f, true
		}
	}
	return format{}, false
}

func (f format) contentType(watch bool) string {
	switch {
	case f.discovery:
		return jsonType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	case f.proto && watch:
		return protoType + ";stream=watch"
	case f.proto:
		return protoType
	default:
		return jsonType
	}
}

// protoEnvelope appends an encoded object with its type, as the API server sends it.
func protoEnvelope(dst []byte, apiVersion, kind string, object []byte) []byte {
	dst = append(dst, protoPrefix...)
	meta := field(field(nil, 1, apiVersion), 2, kind)
	dst = field(dst, 1, meta)
	return field(field(field(dst, 2, object), 3, ""), 4, "")
}

// field appends a field of protobuf with a length.
func field[T string | []byte](dst []byte, number byte, value T) []byte {
	dst = append(dst, number<<3|2)
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
}

// fieldSize is the size that field appends for a value of n bytes.
func fieldSize(n int) int { return 1 + (bits.Len(uint(n)|1)+6)/7 + n }

// listOf appends a list. items are encoded objects without their types.
func (f format) listOf(dst []byte, apiVersion, kind string, meta metav1.ListMeta, items [][]byte) []byte {
	if f.proto {
		body := field(nil, 1, mustProto(&meta))
		size := len(body)
		for _, item := range items {
			size += fieldSize(len(item))
		}
		body = append(make([]byte, 0, size), body...)
		for _, item := range items {
			body = field(body, 2, item)
		}
		return protoEnvelope(dst, apiVersion, kind, body)
	}
	dst = append(dst, `{"kind":"`+kind+`","apiVersion":"`+apiVersion+`","metadata":`...)
	dst = append(append(dst, mustJSON(meta)...), `,"items":[`...)
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	return append(dst, "]}"...)
}

// single appends one object with its type.
func (f format) single(dst []byte, apiVersion, kind string, object []byte) []byte {
	if f.proto {
		return protoEnvelope(dst, apiVersion, kind, object)
	}
	dst = append(dst, `{"kind":"`+kind+`","apiVersion":"`+apiVersion+`",`...)
	return append(dst, object[1:]...)
}

// frame appends one change of a watch.
func (f format) frame(dst []byte, change, apiVersion, kind string, object []byte) []byte {
	if f.proto {
		raw := protoEnvelope(nil, apiVersion, kind, object)
		inner := field(nil, 1, raw)
		event := field(field(nil, 1, change), 2, inner)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(event)))
		return append(dst, event...)
	}
	dst = append(dst, `{"type":"`+change+`","object":`...)
	return append(f.single(dst, apiVersion, kind, object), "}\n"...)
}

// answerJSON answers with a value in JSON.
func answerJSON(w http.ResponseWriter, code int, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// refuse answers with a failure, as the API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answerJSON(w, code, jsonType, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message,
	})
}
