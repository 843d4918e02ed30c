// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/internal/message"
)

// Attributes of OpenTelemetry's semantic conventions.
const (
	keySystem = attribute.Key("rpc.system.name")
	keyMethod = attribute.Key("rpc.method")
	keyStatus = attribute.Key("rpc.response.status_code")
)

// MaxText bounds a text in bytes.
const MaxText = 256

// Called returns the attributes of a call. method is its gRPC name, which begins with a slash.
func Called(method string) []attribute.KeyValue {
	return []attribute.KeyValue{keySystem.String("grpc"), keyMethod.String(method[1:])}
}

// Answered sets the status of a call, and the message of its error without text that may quote values.
func Answered(span trace.Span, err error) {
	answer := status.Convert(err)
	span.SetAttributes(keyStatus.String(codeName(answer.Code())))
	if err != nil {
		span.SetStatus(codes.Error, message.Clean(answer.Message()))
	}
}

// Text returns the start of s as valid UTF-8, at most MaxText bytes.
func Text(s string) string { return strings.ToValidUTF8(s[:min(len(s), MaxText)], "") }
