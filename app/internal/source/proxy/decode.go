// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// answer is what a body says of the objects in it, in whatever encoding: one
// object, the objects of a list or a Table, or a Status.
type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Items      []answer `json:"items"`
	Rows       []row    `json:"rows"`
	Reason     string   `json:"-"`
	Message    string   `json:"-"`
	Details    *details `json:"-"`
}

type metadata struct {
	Name              string    `json:"name"`
	Namespace         string    `json:"namespace"`
	UID               types.UID `json:"uid"`
	ResourceVersion   string    `json:"resourceVersion"`
	Generation        int64     `json:"generation"`
	DeletionTimestamp *string   `json:"deletionTimestamp"`
	GraceSeconds      *int64    `json:"deletionGracePeriodSeconds"`
	Finalizers        []string  `json:"finalizers"`
}

type row struct {
	Object answer `json:"object"`
}

type details struct {
	Name  string    `json:"name"`
	Group string    `json:"group"`
	Kind  string    `json:"kind"`
	UID   types.UID `json:"uid"`
}

// version gives a resourceVersion as a number; 0 if it is none.
func (m *metadata) version() uint64 {
	n, _ := strconv.ParseUint(m.ResourceVersion, 10, 64)
	return n
}

// remains reports whether an object that is being deleted is still stored.
func (m *metadata) remains() bool {
	return m.DeletionTimestamp != nil && (len(m.Finalizers) > 0 || m.GraceSeconds != nil && *m.GraceSeconds > 0)
}

// objects gives the single objects in the answer.
func (a *answer) objects() []answer {
	switch {
	case len(a.Items) > 0:
		return a.Items
	case len(a.Rows) > 0:
		out := make([]answer, 0, len(a.Rows))
		for _, r := range a.Rows {
			out = append(out, r.Object)
		}
		return out
	case a.Kind == "Status" || a.isList() || a.Metadata.Name == "":
		return nil
	}
	return []answer{*a}
}

func (a *answer) isList() bool {
	return a.Kind == "Table" || a.Metadata.Name == "" && strings.HasSuffix(a.Kind, "List")
}

var protobufMagic = []byte("k8s\x00")

// decode reads a body by its headers.
func decode(header http.Header, body []byte) (*answer, error) {
	body, err := plain(header, body)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(body, protobufMagic) {
		return decodeProtobuf(body[len(protobufMagic):])
	}
	return decodeJSON(body)
}

// plain gives a body as JSON, or unpacked protobuf as it is.
func plain(header http.Header, body []byte) ([]byte, error) {
	if header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("cannot unpack the body: %w", err)
		}
		if body, err = io.ReadAll(io.LimitReader(zipped, maxWriteAnswer)); err != nil {
			return nil, fmt.Errorf("cannot unpack the body: %w", err)
		}
	}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case bytes.HasPrefix(body, protobufMagic):
		return body, nil
	case strings.Contains(media, "cbor"):
		var v any
		if err := direct.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	case strings.Contains(media, "yaml"):
		return yaml.YAMLToJSON(body)
	}
	return body, nil
}

func decodeJSON(body []byte) (*answer, error) {
	var a answer
	var shape *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &a); err != nil && !errors.As(err, &shape) {
		return nil, err // a field of another shape is another field: the rest is read
	}
	if a.Kind != "Status" {
		return &a, nil // reason, message and details mean other things in other kinds
	}
	var status struct {
		Reason  string   `json:"reason"`
		Message string   `json:"message"`
		Details *details `json:"details"`
	}
	err := json.Unmarshal(body, &status)
	a.Reason, a.Message, a.Details = status.Reason, status.Message, status.Details
	return &a, err
}

// decodeProtobuf reads the envelope that every Kubernetes protobuf body has.
// In each object's message field 1 is its metadata, in each list's message too,
// and field 2 of a list holds the items.
func decodeProtobuf(body []byte) (*answer, error) {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body); err != nil {
		return nil, err
	}
	a := &answer{APIVersion: envelope.APIVersion, Kind: envelope.Kind}
	if a.Kind == "Status" {
		var s metav1.Status
		if err := s.Unmarshal(envelope.Raw); err != nil {
			return nil, err
		}
		a.Reason, a.Message = string(s.Reason), s.Message
		if d := s.Details; d != nil {
			a.Details = &details{Name: d.Name, Group: d.Group, Kind: d.Kind, UID: d.UID}
		}
		return a, nil
	}
	if !strings.HasSuffix(a.Kind, "List") {
		err := a.readMessage(envelope.Raw)
		return a, err
	}
	err := eachField(envelope.Raw, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			var list metav1.ListMeta
			err := list.Unmarshal(value)
			a.Metadata.ResourceVersion = list.ResourceVersion
			return err
		case 2:
			item := answer{APIVersion: a.APIVersion, Kind: strings.TrimSuffix(a.Kind, "List")}
			err := item.readMessage(value)
			a.Items = append(a.Items, item)
			return err
		}
		return nil
	})
	return a, err
}

// readMessage reads an object's metadata.
func (a *answer) readMessage(message []byte) error {
	return eachField(message, func(number protowire.Number, value []byte) error {
		if number == 1 {
			var m metav1.ObjectMeta
			if err := m.Unmarshal(value); err != nil {
				return err
			}
			a.Metadata = metadata{
				Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
				Generation: m.Generation, GraceSeconds: m.DeletionGracePeriodSeconds, Finalizers: m.Finalizers,
			}
			if m.DeletionTimestamp != nil {
				when := m.DeletionTimestamp.String()
				a.Metadata.DeletionTimestamp = &when
			}
		}
		return nil
	})
}

var errTruncated = errors.New("the protobuf message is damaged")

// eachField calls visit for each length-delimited field of a message.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return errTruncated
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errTruncated
		}
		if err := visit(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
