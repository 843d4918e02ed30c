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
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
	"github.com/kube-lifeline/lifeline/internal/message"
)

var protobufMagic = []byte("k8s\x00")

// decode decodes a body according to its headers.
func decode(header http.Header, body []byte) (*request.Body, error) {
	body, err := plain(header, body)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(body, protobufMagic) {
		return decodeProtobuf(body[len(protobufMagic):])
	}
	return request.Decode(body)
}

// plain decompresses a body and converts CBOR and YAML to JSON. Protobuf stays as it is.
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

// decodeProtobuf decodes the envelope of every Kubernetes protobuf body. In the message of an
// object or list, field 1 is the metadata. Field 2 of a list holds the items.
func decodeProtobuf(body []byte) (*request.Body, error) {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body); err != nil {
		return nil, err
	}
	a := &request.Body{APIVersion: envelope.APIVersion, Kind: envelope.Kind}
	if a.Kind == "Status" {
		var s metav1.Status
		if err := s.Unmarshal(envelope.Raw); err != nil {
			return nil, err
		}
		a.Reason, a.Message = string(s.Reason), s.Message
		if d := s.Details; d != nil {
			a.Details = &request.Details{Name: d.Name, Group: d.Group, Kind: d.Kind, UID: d.UID}
			for _, c := range d.Causes {
				a.Causes = append(a.Causes, message.Cause{Reason: string(c.Type), Field: c.Field, Message: c.Message})
			}
		}
		return a, nil
	}
	if !strings.HasSuffix(a.Kind, "List") {
		err := readMessage(a, envelope.Raw)
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
			item := request.Body{APIVersion: a.APIVersion, Kind: strings.TrimSuffix(a.Kind, "List")}
			err := readMessage(&item, value)
			a.Items = append(a.Items, item)
			return err
		}
		return nil
	})
	return a, err
}

// readMessage reads an object's metadata into b.
func readMessage(b *request.Body, body []byte) error {
	return eachField(body, func(number protowire.Number, value []byte) error {
		if number == 1 {
			var m metav1.ObjectMeta
			if err := m.Unmarshal(value); err != nil {
				return err
			}
			b.Metadata = request.Metadata{
				Name:            m.Name,
				Namespace:       m.Namespace,
				UID:             m.UID,
				ResourceVersion: m.ResourceVersion,
				Generation:      m.Generation,
				Deleting:        m.DeletionTimestamp != nil,
				Finalizers:      len(m.Finalizers),
			}
			if m.DeletionGracePeriodSeconds != nil {
				b.Metadata.GraceSeconds = *m.DeletionGracePeriodSeconds
			}
		}
		return nil
	})
}

var errTruncated = errors.New("the protobuf message is damaged")

// eachField calls visit for each length-delimited field of a message.
func eachField(body []byte, visit func(protowire.Number, []byte) error) error {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return errTruncated
		}
		body = body[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
				return errTruncated
			}
			body = body[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return errTruncated
		}
		if err := visit(number, value); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}
