// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// apiService is the path of the object with which the API server hands requests on.
	apiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.lifeline.dev"
	// sincePatience bounds the request for the time of an outage.
	sincePatience = 2 * time.Second
)

// status is the part of a metav1.Status that we use.
type status struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// refusal returns the error for an answer of the API server itself, in place of the server behind it.
func (c *Client) refusal(ctx context.Context, code int, body []byte) *api.Error {
	var said status
	if json.Unmarshal(body, &said) != nil || said.Kind != "Status" {
		said = status{}
	}
	switch code {
	case http.StatusUnauthorized:
		return refusedCredentials()
	case http.StatusForbidden:
		return &api.Error{Code: code, Message: "you may not ask the server in the cluster: its admin can bind the " +
			"ClusterRole lifeline-visible-changes to you"}
	case http.StatusNotFound:
		return &api.Error{Code: code, Message: c.Server() +
			" has no such path: the server in the cluster was removed or has another version"}
	case http.StatusTooManyRequests:
		return &api.Error{Code: code, Message: "the API server has too many requests: try again later"}
	case http.StatusGatewayTimeout:
		return &api.Error{Code: code, Message: "the server in the cluster did not answer in time, and the API server " +
			"has ended the request"}
	}
	why := said.Message
	if why == "" {
		why = "its APIService v1alpha1.lifeline.dev is not available"
		if since := c.awaySince(ctx); !since.IsZero() {
			why += " since " + since.UTC().Format(time.RFC3339)
		}
	}
	return &api.Error{Code: code, Message: "the server in the cluster does not answer: " + why}
}

// refusedCredentials is the error for credentials that an API server does not accept.
func refusedCredentials() *api.Error {
	const text = "the API server does not accept the credentials of your kubeconfig: log in again"
	return &api.Error{Code: http.StatusUnauthorized, Message: text}
}

// awaySince returns the time since which the APIService is not available; zero if the user may not read it.
func (c *Client) awaySince(ctx context.Context) time.Time {
	ctx, cancel := context.WithTimeout(ctx, sincePatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.through.url.JoinPath(apiService).String(), nil)
	if err != nil {
		return time.Time{}
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return time.Time{}
	}
	defer res.Body.Close()
	var of struct {
		Status struct {
			Conditions []struct {
				Type, Status       string
				LastTransitionTime time.Time
			}
		}
	}
	if json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&of) != nil {
		return time.Time{}
	}
	for _, at := range of.Status.Conditions {
		if at.Type == "Available" && at.Status == "False" {
			return at.LastTransitionTime
		}
	}
	return time.Time{}
}

// unreachable returns the error for a request without an answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the message has the URL anyway
	}
	if c.through != nil {
		return fmt.Errorf("cannot ask the API server at %s: %w", c.through.url.Redacted(), err)
	}
	if untrusted := c.untrusted(err); untrusted != nil {
		return untrusted
	}
	return fmt.Errorf("%w at %s: start one with lifeline serve, or name another with --server: %w",
		ErrNoServer, c.Server(), err)
}

// answered returns the error that an answer without the requested document means.
func (c *Client) answered(res *http.Response, kind string) error {
	got, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if c.through == nil && got == "" && res.StatusCode == http.StatusBadRequest && c.base.Scheme == "http" {
		return fmt.Errorf("%s does not answer in plaintext: if it serves https, name it with https://", c.Server())
	}
	if c.through == nil && got != kind && got != "application/json" {
		return c.strange(fmt.Errorf("status %d of type %.80q", res.StatusCode, got))
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	var problem api.Problem
	if err == nil {
		err = json.Unmarshal(body, &problem)
	}
	own := err == nil && problem.Error.Message != ""
	switch {
	case !own && c.through != nil && res.StatusCode != http.StatusOK:
		problem.Error = *c.refusal(res.Request.Context(), res.StatusCode, body)
	case !own:
		return c.strange(fmt.Errorf("status %d without a message", res.StatusCode))
	case res.StatusCode == http.StatusUnauthorized && c.through == nil:
		problem.Error.Message = c.unauthorized(problem.Error.Message)
	}
	problem.Error.Message, problem.Error.Code = object.Bound(problem.Error.Message), res.StatusCode
	problem.Error.Hint = object.Bound(problem.Error.Hint)
	switch pause := pauseOf(res); {
	case pause > 0:
		return &notReadyError{answer: &problem.Error, after: pause}
	case !own:
		return &frontError{&problem.Error}
	}
	return &problem.Error
}

// frontError is an answer of the API server in place of the server behind it.
type frontError struct{ answer *api.Error }

// Error and Unwrap return the answer.
func (e *frontError) Error() string { return e.answer.Error() }
func (e *frontError) Unwrap() error { return e.answer }

// FromAPIServer reports whether err is an answer of an API server in place of the server behind it.
func FromAPIServer(err error) bool {
	var front *frontError
	return errors.As(err, &front)
}
