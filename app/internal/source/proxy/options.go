// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// drySent reports whether the options in a deletion's body request a dry run. It leaves r.Body
// readable from the start.
func drySent(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, maxOptions))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = errorReader{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), r.Body}
	return dryRun(r.Header, head)
}

func dryRun(header http.Header, body []byte) bool {
	body, err := plain(header, body)
	if err != nil {
		return false
	}
	if !bytes.HasPrefix(body, protobufMagic) {
		options, err := request.Decode(body)
		return err == nil && options.Dry
	}
	var envelope runtime.Unknown
	if envelope.Unmarshal(body[len(protobufMagic):]) != nil {
		return false
	}
	if envelope.Kind == "Eviction" { // alike in policy/v1 and v1beta1
		var e policyv1.Eviction
		return e.Unmarshal(envelope.Raw) == nil && e.DeleteOptions != nil &&
			slices.Contains(e.DeleteOptions.DryRun, metav1.DryRunAll)
	}
	var o metav1.DeleteOptions
	return o.Unmarshal(envelope.Raw) == nil && slices.Contains(o.DryRun, metav1.DryRunAll)
}

type errorReader struct{ err error }

// Read implements io.Reader.
func (e errorReader) Read([]byte) (int, error) { return 0, e.err }
