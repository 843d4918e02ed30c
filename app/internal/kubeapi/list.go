// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

const (
	// maxList bounds the changes of a list, over all its pages: the newest ones. A client asks for page after page,
	// and an archive may have a million.
	maxList = 1000
	// defaultPage is the length of a page without a limit.
	defaultPage = maxList
)

// place is the content of the parameter "continue".
type place struct {
	// After is the Next of the API, and Had the number of changes before. Version is that of the list.
	After   string `json:"a"`
	Had     int    `json:"n"`
	Version string `json:"v"`
}

func (p place) text() string { return base64.RawURLEncoding.EncodeToString(encode(p)) }

func placeOf(text string) (place, *metav1.Status) {
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Had < 0 || p.After == "" {
		return p, Failure(http.StatusBadRequest, "the parameter continue is not that of a list of changes")
	}
	return p, nil
}

// list answers with the newest changes.
func (h *handler) list(w http.ResponseWriter, r *http.Request, t target, q url.Values) {
	as, failure := formOf(r)
	var sel *selected
	if failure == nil {
		sel, failure = t.selectOf(q)
	}
	var found []api.Summary
	var meta metav1.ListMeta
	if failure == nil {
		found, meta, failure = h.page(r, t, sel, q)
	}
	if failure != nil {
		WriteFailure(w, failure)
		return
	}
	switch as {
	case formTable:
		rows := make([]metav1.TableRow, 0, len(found))
		for i := range found {
			rows = append(rows, t.row(&found[i], h.clock(), include(q)))
		}
		write(w, http.StatusOK, jsonType, t.table(rows, meta))
	case formMetadata:
		out := metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: meta,
			Items: []metav1.PartialObjectMetadata{},
		}
		for i := range found {
			out.Items = append(out.Items, *metadataOf(t.changeOf(&found[i])))
		}
		write(w, http.StatusOK, jsonType, out)
	default:
		out := ChangeList{
			TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion, Kind: t.kind() + "List"}, ListMeta: meta,
			Items: []*Change{},
		}
		for i := range found {
			out.Items = append(out.Items, t.changeOf(&found[i]))
		}
		write(w, http.StatusOK, jsonType, out)
	}
}

// page returns one page of a list.
func (h *handler) page(
	r *http.Request, t target, sel *selected, q url.Values,
) ([]api.Summary, metav1.ListMeta, *metav1.Status) {
	// The list has each change up to its version, and perhaps later ones, which a watch repeats.
	at := place{Version: versionOf(h.asOf())}
	var meta metav1.ListMeta
	if text := q.Get("continue"); text != "" {
		var failure *metav1.Status
		if at, failure = placeOf(text); failure != nil {
			return nil, meta, failure
		}
	}
	meta.ResourceVersion = at.Version
	limit := defaultPage
	if text := q.Get("limit"); text != "" && text != "0" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, meta, Failure(http.StatusBadRequest, "the limit %s is no positive number", shown(text))
		}
		limit = n
	}
	limit = min(limit, maxList-at.Had)
	if sel.none || limit <= 0 {
		return nil, meta, nil
	}
	ask := maps.Clone(sel.list)
	ask.Set("limit", strconv.Itoa(limit))
	if at.After != "" {
		ask.Set("after", at.After)
	}
	var page api.Page
	if failure := h.ask(t.inner(r.Context(), r, verbList, apiRoot+"traces", ask), &page); failure != nil {
		return nil, meta, failure
	}
	if at.Had += len(page.Traces); page.Next != "" && at.Had < maxList {
		at.After = page.Next
		meta.Continue = at.text()
	}
	found := page.Traces[:0]
	for i := range page.Traces {
		if sel.matches(&page.Traces[i]) {
			found = append(found, page.Traces[i])
		}
	}
	return found, meta, nil
}

// get answers with one change.
func (h *handler) get(w http.ResponseWriter, r *http.Request, t target, q url.Values) {
	as, failure := formOf(r)
	if failure == nil && !validName(t.name) {
		failure = t.notFound(t.name)
	}
	var tree api.Tree
	if failure == nil {
		path := apiRoot + "traces/" + t.name + "/tree"
		failure = h.ask(t.inner(r.Context(), r, verbGet, path, nil), &tree)
	}
	if failure != nil && failure.Code == http.StatusNotFound || failure == nil && tree.Summary == nil {
		failure = t.notFound(t.name)
	}
	if failure != nil {
		WriteFailure(w, failure)
		return
	}
	switch as {
	case formTable:
		write(w, http.StatusOK, jsonType, t.table([]metav1.TableRow{t.row(tree.Summary, h.clock(), include(q))},
			metav1.ListMeta{ResourceVersion: versionOf(tree.Summary.AsOf)}))
	case formMetadata:
		write(w, http.StatusOK, jsonType, metadataOf(t.changeOf(tree.Summary)))
	default:
		write(w, http.StatusOK, jsonType, t.explained(&tree, h.clock()))
	}
}

// explained returns a change with its reason and its steps.
func (t target) explained(tree *api.Tree, now time.Time) *Change {
	c := t.changeOf(tree.Summary)
	if tree.Why != nil {
		for _, line := range strings.Split(strings.TrimSpace(tree.Why.Text), "\n") {
			c.Status.Why = append(c.Status.Why, shown(line))
		}
	}
	asOf := tree.AsOf
	if asOf.IsZero() {
		asOf = now
	}
	c.Status.Steps = stepsOf(tree.Nodes, asOf)
	return c
}
