// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// GuardHost rejects requests that reach a loopback address under another name than localhost, an IP
// address or one of hosts (403). A web page could otherwise point its own name to loopback and read
// the responses (DNS rebinding). Requests to other addresses pass. reject writes the error response.
func GuardHost(
	next http.Handler, reject func(w http.ResponseWriter, code int, message string), hosts ...string,
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if onLoopback(r) && !trusted(r.Host, hosts) {
			reject(w, http.StatusForbidden, fmt.Sprintf(
				"this address answers to localhost and to addresses, not to the name %.80q: "+
					"ask http://127.0.0.1 with the same port", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func onLoopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.IP.IsLoopback()
}

func trusted(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(hosts, func(h string) bool { return h != "" && strings.EqualFold(h, host) })
}
