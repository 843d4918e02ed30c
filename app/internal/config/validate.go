// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	// minSize is the smallest disk size for traces. SQLite's own files and one burst of traces need
	// that much.
	minSize = resource.MustParse("64Mi")
	// mostSize is the first size beyond an int64.
	mostSize = resource.MustParse("8Ei")
)

// Validate joins one *field.Error for each wrong field, with its path, its value and the allowed
// values. It returns nil for a valid configuration.
func (c *ServerConfiguration) Validate() error {
	var all []error
	for _, err := range c.validate() {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (c *ServerConfiguration) validate() field.ErrorList {
	v := new(validator)
	v.oneOf(field.NewPath("apiVersion"), c.APIVersion, APIVersion)
	v.oneOf(field.NewPath("kind"), c.Kind, Kind)
	v.listeners(c)
	v.log(field.NewPath("log"), c.Log)
	v.watch(field.NewPath("watch"), c.Watch)
	v.receiver(field.NewPath("receivers", "otlp", "grpc"), c.Receivers.OTLP.GRPC)
	v.receiver(field.NewPath("receivers", "otlp", "http"), c.Receivers.OTLP.HTTP)
	v.receiver(field.NewPath("receivers", "audit", "webhook"), c.Receivers.Audit.Webhook)
	v.webhook(field.NewPath("webhook"), c.Webhook)
	v.engine(field.NewPath("engine"), c.Engine)
	v.relations(field.NewPath("relations"), c.Relations)
	v.health(field.NewPath("health"), c.Health)
	v.messages(field.NewPath("messages"), c.Messages)
	v.messagesOf(field.NewPath("messagesOf"), c.MessagesOf)
	v.values(field.NewPath("showValues"), c.ShowValues)
	v.labels(field.NewPath("labels"), c.Labels)
	v.joining(field.NewPath("joining"), c.Joining)
	v.sampling(field.NewPath("sampling"), c.Sampling)
	v.retention(field.NewPath("retention"), c.Retention)
	v.otlp(field.NewPath("otlp"), c.OTLP)
	v.notices(field.NewPath("notices"), c.Notices)
	v.regressions(field.NewPath("regressions"), c.Regressions)
	v.replicas(field.NewPath("replicas"), c.Replicas)
	return v.wrong
}

func (v *validator) listeners(c *ServerConfiguration) {
	api, telemetry := field.NewPath("api"), field.NewPath("telemetry")
	if c.API.Address == "" {
		v.address(api.Child("address"), "")
	}
	before := len(v.wrong)
	v.receiver(api, EndpointConfiguration{Address: c.API.Address, Insecure: true, TLS: c.API.TLS})
	known := c.API.TokenFile != "" || c.API.Authorization == AuthorizationKubernetes
	if before == len(v.wrong) && (c.API.TLS == TLSConfiguration{} || !known) && !loopback(c.API.Address) {
		v.invalid(
			api.Child("address"),
			c.API.Address,
			fmt.Sprintf("must be of loopback, such as %s, unless %s is set, and either %s or %s: %s",
				onLoopback(c.API.Address), api.Child("tls"), api.Child("tokenFile"), api.Child("authorization"),
				AuthorizationKubernetes),
		)
	}
	validateCallers(v, api, &c.API)
	v.between(api.Child("maxStreams"), c.API.MaxStreams, 1, 10_000)
	v.address(telemetry.Child("address"), c.Telemetry.Address)
	if c.API.Address == c.Telemetry.Address && !anyPort(c.API.Address) {
		v.invalid(telemetry.Child("address"), c.Telemetry.Address, "must differ from api.address")
	}
}

func (v *validator) receiver(path *field.Path, c EndpointConfiguration) {
	tls, known := path.Child("tls"), false
	switch {
	case c.Address != "":
		before := len(v.wrong)
		v.address(path.Child("address"), c.Address)
		known = len(v.wrong) == before
	case c.TLS != (TLSConfiguration{}):
		v.wrong = append(v.wrong, field.Required(path.Child("address"), "must be set where tls is"))
	case c.TokenFile != "":
		v.wrong = append(v.wrong, field.Required(path.Child("address"), "must be set where tokenFile is"))
	}
	switch plain := c.TLS == (TLSConfiguration{}); {
	case !plain && c.TLS.CertFile == "":
		v.wrong = append(v.wrong, field.Required(tls.Child("certFile"), "must be set with the other files of tls"))
	case !plain && c.TLS.KeyFile == "":
		v.wrong = append(v.wrong, field.Required(tls.Child("keyFile"), "must be set with the other files of tls"))
	case plain && known && !c.Insecure && !loopback(c.Address):
		v.invalid(path.Child("address"), c.Address,
			fmt.Sprintf("must be of loopback, such as %s, unless %s or %s is set", onLoopback(c.Address), tls,
				path.Child("insecure")))
	}
}

func (v *validator) joining(path *field.Path, c JoiningConfiguration) {
	v.oneOf(path.Child("mode"), c.Mode, JoinRewrite, JoinLink)
	v.oneOf(path.Child("unjoined"), c.Unjoined, UnjoinedPass, UnjoinedDrop)
	if c.Window.Duration < 10*time.Second || c.Window.Duration > 10*time.Minute {
		v.invalid(path.Child("window"), c.Window.Duration.String(), "must be between 10s and 10m")
	}
}

func (v *validator) log(path *field.Path, c LogConfiguration) {
	v.oneOf(path.Child("level"), c.Level, LevelDebug, LevelInfo, LevelWarn, LevelError)
	v.oneOf(path.Child("format"), c.Format, FormatText, FormatJSON)
}

func (v *validator) watch(path *field.Path, c WatchConfiguration) {
	v.each(path.Child("namespaces"), c.Namespaces, v.label)
	v.each(path.Child("exclude"), c.Exclude, func(at *field.Path, text string) {
		gr, ok := ParseExclude(text)
		if c.SecretMetadata && gr == secrets {
			v.invalid(at, text, "must not be excluded and watched: remove it, or set watch.secretMetadata to false")
		}
		if !ok {
			v.invalid(at, text,
				"must be resource, resource.group or *.group, with the plural in small letters, such as configmaps, "+
					"deployments.apps or *.example.com")
		}
	})
}

func (v *validator) engine(path *field.Path, c EngineConfiguration) {
	if v.positive(path.Child("settle"), c.Settle) && v.positive(path.Child("patience"), c.Patience) &&
		c.Settle.Duration >= c.Patience.Duration {
		v.invalid(path.Child("settle"), c.Settle.Duration.String(),
			"must be less than engine.patience, "+c.Patience.Duration.String())
	}
	if c.Aftermath.Duration < 0 || c.Aftermath.Duration > maxAftermath {
		v.invalid(path.Child("aftermath"), c.Aftermath.Duration.String(), "must be between 0s and 24h")
	}
}

// maxAftermath bounds engine.aftermath: the engine keeps each change so long.
const maxAftermath = 24 * time.Hour

func (v *validator) sampling(path *field.Path, c SamplingConfiguration) {
	v.between(path.Child("ratePerMillion"), c.RatePerMillion, 0, 1_000_000)
	if c.KeepSlowerThan.Duration < 0 {
		v.invalid(path.Child("keepSlowerThan"), c.KeepSlowerThan.Duration.String(), "must not be less than 0s")
	}
}

func (v *validator) retention(path *field.Path, c RetentionConfiguration) {
	v.positive(path.Child("age"), c.Age)
	v.positive(path.Child("rollups"), c.Rollups)
	ages := c.Ages()
	for _, outcome := range slices.Sorted(maps.Keys(ages)) {
		if age := ages[outcome]; age < 0 {
			v.invalid(path.Child("outcomes", outcome), age.String(), "must not be less than 0s")
		}
	}
	switch {
	case c.Size.Cmp(mostSize) >= 0 || c.Size.Cmp(*resource.NewQuantity(c.Size.Value(), resource.BinarySI)) != 0:
		v.invalid(path.Child("size"), c.Size.String(), "must be a whole number of bytes, less than 8Ei")
	case c.Size.Cmp(minSize) < 0:
		v.invalid(path.Child("size"), c.Size.String(), "must not be less than "+minSize.String())
	}
}

func (v *validator) otlp(path *field.Path, c OTLPConfiguration) {
	v.endpoint(path.Child("endpoint"), c.Endpoint)
	v.messages(path.Child("messages"), c.Messages)
	v.positive(path.Child("outbox", "maxAge"), c.Outbox.MaxAge)
	v.between(path.Child("outbox", "maxSpans"), c.Outbox.MaxSpans, 1, 1_000_000_000)
}

func (v *validator) replicas(path *field.Path, c ReplicasConfiguration) {
	v.oneOf(path.Child("mode"), c.Mode, ModeSingle, ModeStandby)
	v.label(path.Child("name"), c.Name)
	if c.Namespace != "" {
		v.label(path.Child("namespace"), c.Namespace)
	}
	if c.Identity != "" {
		v.label(path.Child("identity"), c.Identity)
	}
	v.lease(path, c)
}

// lease also checks the requirements of client-go's leader election.
func (v *validator) lease(path *field.Path, c ReplicasConfiguration) {
	lease, renew, again := c.LeaseDuration.Duration, c.RenewDeadline.Duration, c.RetryPeriod.Duration
	good := v.positive(path.Child("leaseDuration"), c.LeaseDuration)
	good = v.positive(path.Child("renewDeadline"), c.RenewDeadline) && good
	good = v.positive(path.Child("retryPeriod"), c.RetryPeriod) && good
	if !good {
		return
	}
	if lease%time.Second != 0 {
		v.invalid(path.Child("leaseDuration"), lease.String(), "must be whole seconds")
	}
	if lease <= renew {
		v.invalid(path.Child("leaseDuration"), lease.String(),
			"must be more than replicas.renewDeadline, "+renew.String())
	}
	if renew <= again+again/5 {
		v.invalid(path.Child("renewDeadline"), renew.String(),
			"must be more than 1.2 times replicas.retryPeriod, "+again.String())
	}
}

// positive reports whether a duration is greater than zero.
func (v *validator) positive(path *field.Path, d metav1.Duration) bool {
	if d.Duration <= 0 {
		v.invalid(path, d.Duration.String(), "must be more than 0s")
		return false
	}
	return true
}
