// SPDX-License-Identifier: Apache-2.0

package apiproto

import (
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// Accept lists the media types of the Serializer in order of preference.
const Accept = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// Serializer decodes the responses of a client that reads objects, in protobuf or in JSON. It encodes
// nothing.
type Serializer struct{}

var _ runtime.NegotiatedSerializer = Serializer{}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (Serializer) SupportedMediaTypes() []runtime.SerializerInfo { return mediaTypes }

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (Serializer) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (Serializer) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}

var mediaTypes = []runtime.SerializerInfo{
	{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application",
		MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer:       decoder(decodeProto),
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme),
			Framer:     protobuf.LengthDelimitedFramer,
		},
	},
	{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json",
		EncodesAsText: true,
		Serializer:    decoder(decodeJSON),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer: jsonserializer.NewSerializerWithOptions(
				jsonserializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, jsonserializer.SerializerOptions{},
			),
			Framer: jsonserializer.Framer,
		},
	},
}

// decoder is the Serializer of one media type. into is nil or an *unstructured.UnstructuredList.
type decoder func(data []byte, into *unstructured.UnstructuredList) (runtime.Object, error)

// Decode implements runtime.Decoder.
func (d decoder) Decode(
	data []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	list, is := into.(*unstructured.UnstructuredList)
	if into != nil && !is {
		return nil, nil, fmt.Errorf("cannot decode into %T", into)
	}
	obj, err := d(data, list)
	if err != nil {
		return nil, nil, err
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	return obj, &gvk, nil
}

// Encode implements runtime.Encoder.
func (decoder) Encode(obj runtime.Object, _ io.Writer) error {
	return fmt.Errorf("cannot encode %T", obj)
}

// Identifier implements runtime.Encoder.
func (decoder) Identifier() runtime.Identifier { return "apiproto" }

// Encoded is an object in a watch in protobuf, for Decode; a Status is decoded already. So the receiver
// decides when to decode, and gets an error with its type; client-go would replace it by another.
type Encoded struct {
	metav1.TypeMeta
	Data []byte
}

// DeepCopyObject implements runtime.Object.
func (e *Encoded) DeepCopyObject() runtime.Object {
	out := *e
	return &out
}

func decodeProto(data []byte, into *unstructured.UnstructuredList) (runtime.Object, error) {
	if into == nil && !isStatus(data) {
		return &Encoded{Data: data}, nil
	}
	obj, err := Decode(data)
	if list, is := obj.(*unstructured.UnstructuredList); is && into != nil {
		*into = *list
		return into, nil
	}
	return obj, err
}

func decodeJSON(data []byte, into *unstructured.UnstructuredList) (runtime.Object, error) {
	var typed runtime.Object
	if into != nil {
		typed = into
	}
	obj, gvk, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, typed)
	if err == nil && *gvk == statusKind {
		status := &metav1.Status{}
		return status, json.Unmarshal(data, status)
	}
	return obj, err
}
