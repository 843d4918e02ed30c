// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// noticesTo returns a change to these receivers, with names, and cloudevents as the default format.
func noticesTo(all ...NoticeReceiverConfiguration) func(*ServerConfiguration) {
	return func(c *ServerConfiguration) {
		for i, r := range all {
			r.Name = fmt.Sprint("r", i)
			if r.Format == "" {
				r.Format = NoticesCloudEvents
			}
			c.Notices.Receivers = append(c.Notices.Receivers, r)
		}
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*ServerConfiguration)
		// want are the paths of the wrong fields, in order.
		want string
	}{
		"Default": {"", func(*ServerConfiguration) {}, ""},
		"Zero": {
			"all required fields are missing", func(c *ServerConfiguration) {
				*c = ServerConfiguration{}
			}, "apiVersion kind api.address api.authorization api.maxStreams telemetry.address telemetry.address " +
				"log.level log.format " +
				"webhook.convention webhook.suppliers engine.settle messages joining.mode joining.unjoined " +
				"joining.window " +
				"retention.age retention.rollups retention.size otlp.messages otlp.outbox.maxAge " +
				"otlp.outbox.maxSpans notices.after " +
				"regressions.period regressions.interval replicas.mode replicas.name " +
				"replicas.leaseDuration replicas.renewDeadline replicas.retryPeriod",
		},
		"Addresses": {
			"", func(c *ServerConfiguration) {
				c.API.Address, c.Telemetry.Address = "[::1]:0", "lifeline.example:80"
			}, "",
		},
		"Relations": {
			"errors in each field", func(c *ServerConfiguration) {
				a := ObjectKindConfiguration{Group: "example.com", Kind: "Database"}
				c.Relations = []RelationConfiguration{
					{Name: "one", From: a, To: a, Match: "from.a == to.b"},
					{Name: "one", From: a, To: ObjectKindConfiguration{Kind: "Secret"}, Match: "from.a == to.b"},
					{
						Name: "Two",
						From: ObjectKindConfiguration{Group: "a/v1", Kind: "x-y"},
						To: ObjectKindConfiguration{
							Group: "events.k8s.io",
							Kind:  "Event",
						},
						Match: "from.a == to.b || true",
					},
				}
			}, "relations[1].name relations[1].to.kind relations[2].name relations[2].from.group " +
				"relations[2].from.kind " +
				"relations[2].to.kind relations[2].match:1:1",
		},
		"ManyRelations": {
			"",
			func(c *ServerConfiguration) { c.Relations = make([]RelationConfiguration, 17) },
			"relations",
		},
		"Values": {
			"errors in each field", func(c *ServerConfiguration) {
				c.ShowValues = []ValuesConfiguration{
					{
						Group:  "example.com",
						Kind:   "Widget",
						Fields: []string{"spec.size", "metadata.annotations.example.com/note"},
					},
					{Kind: "Secret", Fields: []string{"data"}},
					{Group: "a/v1", Kind: "x-y", Fields: []string{"spec.containers[name=web].image", "", ".a"}},
					{Group: "example.com", Kind: "Widget"},
					{Group: "example.com", Kind: "Widget", Fields: make([]string, 65)},
				}
			}, "showValues[1].kind showValues[2].group showValues[2].kind showValues[2].fields[0] " +
				"showValues[2].fields[1] " +
				"showValues[2].fields[2] showValues[3].fields showValues[4].fields",
		},
		"ManyValues": {
			"", func(c *ServerConfiguration) { c.ShowValues = make([]ValuesConfiguration, 65) }, "showValues",
		},
		"Notices": {
			"", noticesTo(
				NoticeReceiverConfiguration{URL: "https://hooks.example/lifeline?key=x", TokenFile: "/token"},
				NoticeReceiverConfiguration{
					URL: "http://127.0.0.1:8080/", TokenFile: "/token", After: duration(time.Hour),
				},
				NoticeReceiverConfiguration{Format: NoticesSlack, URLFile: "/slack", Namespaces: []string{"shop"}},
				NoticeReceiverConfiguration{Format: NoticesPagerDuty, TokenFile: "/key"},
				NoticeReceiverConfiguration{
					Format: NoticesAlertmanager, URL: "http://alertmanager:9093",
					Types: []string{NoticeProblemStarted, NoticeProblemResolved, NoticeProblemChanged},
				},
				NoticeReceiverConfiguration{URLFile: "/url", Types: []string{NoticeChangeFailed}},
			), "",
		},
		"NoticesURL": {
			"a token needs TLS, and credentials are in no URL", noticesTo(
				NoticeReceiverConfiguration{URL: "http://hooks.example", TokenFile: "/token"},
				NoticeReceiverConfiguration{URL: "hooks.example:443"},
				NoticeReceiverConfiguration{URL: "https://a:b@hooks.example"},
				NoticeReceiverConfiguration{},
				NoticeReceiverConfiguration{URL: "https://hooks.example", URLFile: "/url"},
			), "notices.receivers[0].url notices.receivers[1].url notices.receivers[2].url " +
				"notices.receivers[3].url notices.receivers[4].urlFile",
		},
		"NoticesToOthers": {
			"each format has its own rules", noticesTo(
				NoticeReceiverConfiguration{Format: "teams", URL: "https://a.example"},
				NoticeReceiverConfiguration{Format: NoticesPagerDuty},
				NoticeReceiverConfiguration{Format: NoticesSlack, URLFile: "/url", TokenFile: "/token"},
				NoticeReceiverConfiguration{
					Format: NoticesAlertmanager, URL: "http://a",
					Types: []string{NoticeProblemStarted, NoticeChangeFailed},
				},
				NoticeReceiverConfiguration{URLFile: "/url", Types: []string{"stuck"}, Namespaces: []string{"a/b"}},
				NoticeReceiverConfiguration{URLFile: "/url", After: duration(time.Millisecond)},
			), "notices.receivers[0].format notices.receivers[1].tokenFile notices.receivers[2].tokenFile " +
				"notices.receivers[3].types[1] notices.receivers[3].types notices.receivers[4].types[0] " +
				"notices.receivers[4].namespaces[0] notices.receivers[5].after",
		},
		"NoticesNames": {
			"", func(c *ServerConfiguration) {
				one := NoticeReceiverConfiguration{Name: "a", Format: NoticesCloudEvents, URLFile: "/url"}
				other := one
				other.Name = "A b"
				c.Notices.Page, c.Notices.After = "lifeline.example", duration(0)
				c.Notices.Receivers = []NoticeReceiverConfiguration{one, one, other}
			}, "notices.after notices.page notices.receivers[1].name notices.receivers[2].name",
		},
		"Regressions": {
			"", func(c *ServerConfiguration) {
				c.Regressions.Period, c.Regressions.Interval = duration(time.Hour), duration(time.Second)
			}, "regressions.period regressions.interval",
		},
		"RegressionsOff": {
			"", func(c *ServerConfiguration) { c.Regressions.Enabled = false }, "",
		},
		"NoticesOfRegressions": {
			"an alert needs its end", noticesTo(
				NoticeReceiverConfiguration{
					Format:    NoticesPagerDuty,
					TokenFile: "/key",
					Types:     []string{NoticeRegressionStarted, NoticeRegressionEnded},
				},
				NoticeReceiverConfiguration{
					Format: NoticesAlertmanager,
					URL:    "http://a",
					Types:  []string{NoticeRegressionStarted, NoticeProblemStarted},
				},
				NoticeReceiverConfiguration{URLFile: "/url", Types: []string{NoticeRegressionStarted}},
				NoticeReceiverConfiguration{
					Format: NoticesPagerDuty, TokenFile: "/key",
					Types: []string{NoticeProblemStarted, NoticeProblemResolved, NoticeRegressionEnded},
				},
			), "notices.receivers[1].types notices.receivers[3].types",
		},
		"ManyNoticeReceivers": {
			"", noticesTo(make([]NoticeReceiverConfiguration, 17)...), "notices.receivers",
		},
		"EveryAddress": {
			"every client could read every trace", func(c *ServerConfiguration) {
				c.API.Address = ":7070"
			}, "api.address",
		},
		"OtherAddress": {
			"the address is not of loopback", func(c *ServerConfiguration) {
				c.API.Address = "192.0.2.1:7070"
			}, "api.address",
		},
		"OtherName": {
			"a name may resolve to any address", func(c *ServerConfiguration) {
				c.API.Address = "lifeline.example:7070"
			}, "api.address",
		},
		"TLSAndToken": {"", func(c *ServerConfiguration) {
			c.API.Address, c.API.TLS = ":7070", TLSConfiguration{CertFile: "a", KeyFile: "b"}
			c.API.TokenFile = "t"
		}, ""},
		"OnlyTLS": {"a certificate limits no client", func(c *ServerConfiguration) {
			c.API.Address, c.API.TLS = ":7070", TLSConfiguration{CertFile: "a", KeyFile: "b"}
		}, "api.address"},
		"OnlyToken": {"the network could read the token", func(c *ServerConfiguration) {
			c.API.Address, c.API.TokenFile = ":7070", "t"
		}, "api.address"},
		"TokenOnLoopback": {"", func(c *ServerConfiguration) { c.API.TokenFile = "t" }, ""},
		"HalfTLS": {
			"", func(c *ServerConfiguration) { c.API.Address, c.API.TLS.CertFile = ":7070", "a" }, "api.tls.keyFile",
		},
		"NoAddress": {
			"the API is always served", func(c *ServerConfiguration) { c.API.Address = "" }, "api.address",
		},
		"SameFreePort": {
			"port 0 means another port each time", func(c *ServerConfiguration) {
				c.API.Address, c.Telemetry.Address = "127.0.0.1:0", "127.0.0.1:0"
			}, "",
		},
		"SameAddress": {"", func(c *ServerConfiguration) { c.API.Address = c.Telemetry.Address }, "telemetry.address"},
		"NoPort":      {"", func(c *ServerConfiguration) { c.API.Address = "127.0.0.1" }, "api.address"},
		"PortName":    {"", func(c *ServerConfiguration) { c.API.Address = ":http" }, "api.address"},
		"PortTooBig":  {"", func(c *ServerConfiguration) { c.API.Address = ":65536" }, "api.address"},
		"Host":        {"", func(c *ServerConfiguration) { c.API.Address = "a b:1" }, "api.address"},
		"Streams":     {"", func(c *ServerConfiguration) { c.API.MaxStreams = -1 }, "api.maxStreams"},
		"NoStreams":   {"", func(c *ServerConfiguration) { c.API.MaxStreams = 0 }, "api.maxStreams"},
		"Namespaces": {
			"", func(c *ServerConfiguration) { c.Watch.Namespaces = []string{"a", "A", "a", ""} },
			"watch.namespaces[1] watch.namespaces[2] watch.namespaces[3]",
		},
		"Exclude": {"", func(c *ServerConfiguration) { c.Watch.Exclude = []string{"a", "a.b.c", "*.b"} }, ""},
		"ExcludeSecrets": {"watched and excluded", func(c *ServerConfiguration) {
			c.Watch.SecretMetadata, c.Watch.Exclude = true, []string{"leases", "secrets"}
		}, "watch.exclude[1]"},
		"Labels": {"", func(c *ServerConfiguration) { c.Labels = []string{"app", "example.com/team"} }, ""},
		"LabelsNot": {"", func(c *ServerConfiguration) {
			c.Labels = []string{"", "a b", "a/b/c", "app", "app"}
		}, "labels[0] labels[1] labels[2] labels[4]"},
		"LabelsMany": {"", func(c *ServerConfiguration) {
			c.Labels = strings.Fields("a b c d e f g h i j k l m n o p q")
		}, "labels"},
		"ExcludeNot": {"", func(c *ServerConfiguration) {
			c.Watch.Exclude = []string{"", "*", "*.", "a.", ".b", "a/b", "*.*", "a.b", "a.b"}
		}, "watch.exclude[0] watch.exclude[1] watch.exclude[2] watch.exclude[3] watch.exclude[4] watch.exclude[5] " +
			"watch.exclude[6] watch.exclude[8]"},
		"Receivers": {"", func(c *ServerConfiguration) {
			c.Receivers.OTLP.GRPC.Address, c.Receivers.OTLP.HTTP.Address = "127.0.0.1:4317", "localhost:4318"
		}, ""},
		"ReceiveOpenly": {"an open address must be explicit", func(c *ServerConfiguration) {
			c.Receivers.OTLP.GRPC.Address, c.Receivers.OTLP.HTTP = ":4317", EndpointConfiguration{
				Address: ":4318", Insecure: true,
			}
		}, "receivers.otlp.grpc.address"},
		"ReceiveTLS": {"", func(c *ServerConfiguration) {
			c.Receivers.OTLP.GRPC = EndpointConfiguration{
				Address: ":4317", TLS: TLSConfiguration{CertFile: "a", KeyFile: "b"},
			}
			c.Receivers.OTLP.HTTP = EndpointConfiguration{TLS: TLSConfiguration{ClientCAFile: "c", CertFile: "a"}}
		}, "receivers.otlp.http.address receivers.otlp.http.tls.keyFile"},
		"ReceiveToken": {"", func(c *ServerConfiguration) {
			c.Receivers.OTLP.GRPC = EndpointConfiguration{Address: "127.0.0.1:4317", TokenFile: "t"}
			c.Receivers.OTLP.HTTP = EndpointConfiguration{TokenFile: "t"}
			c.Receivers.Audit.Webhook = EndpointConfiguration{Address: "127.0.0.1:4319", TokenFile: "t"}
		}, "receivers.otlp.http.address"},
		"ReceiveTokenOpenly": {"a token does not encrypt the connection", func(c *ServerConfiguration) {
			c.Receivers.OTLP.GRPC = EndpointConfiguration{Address: ":4317", TokenFile: "t"}
		}, "receivers.otlp.grpc.address"},
		"WebhookToken": {"only receivers use a token", func(c *ServerConfiguration) {
			c.Webhook.Endpoint = EndpointConfiguration{Address: "127.0.0.1:9443", TokenFile: "t"}
		}, "webhook.endpoint.tokenFile"},
		"Webhook": {"", func(c *ServerConfiguration) {
			c.Webhook = WebhookConfiguration{
				Endpoint:   EndpointConfiguration{Address: ":9443", TLS: TLSConfiguration{CertFile: "a", KeyFile: "b"}},
				Convention: "kep-5915",
				Suppliers:  SuppliersGroups, SupplierGroups: []string{"system:masters", "a group"},
			}
		}, ""},
		"Certificate": {"a managed certificate needs no TLS files", func(c *ServerConfiguration) {
			c.Webhook.Endpoint.Address, c.Webhook.Certificate.Managed, c.Webhook.Certificate.Names = ":9443", true,
				[]string{"a.b.svc", "192.0.2.1"}
		}, ""},
		"CertificateTwice": {"", func(c *ServerConfiguration) {
			c.Webhook.Endpoint = EndpointConfiguration{
				Address: ":9443", TLS: TLSConfiguration{CertFile: "a", KeyFile: "b"},
			}
			c.Webhook.Certificate.Managed, c.Webhook.Certificate.Names = true, []string{"a b"}
		}, "webhook.certificate.names[0] webhook.endpoint.tls"},
		"CertificateUnused": {
			"", func(c *ServerConfiguration) {
				c.Webhook.Certificate = CertificateConfiguration{Managed: true}
			}, "webhook.certificate.name webhook.certificate.configuration webhook.endpoint.address",
		},
		"WebhookOpenly": {
			"an open address must be explicit", func(c *ServerConfiguration) { c.Webhook.Endpoint.Address = ":9443" },
			"webhook.endpoint.address",
		},
		"WebhookTLS": {
			"", func(c *ServerConfiguration) { c.Webhook.Endpoint.TLS.CertFile = "a" },
			"webhook.endpoint.address webhook.endpoint.tls.keyFile",
		},
		"Convention": {
			"the convention needs room for a claim", func(c *ServerConfiguration) {
				c.Webhook.Convention = "jaeger"
			}, "webhook.convention",
		},
		"Suppliers": {
			"", func(c *ServerConfiguration) { c.Webhook.Suppliers = "everyone" }, "webhook.suppliers",
		},
		"SuppliersUnnamed": {
			"groups needs at least one group", func(c *ServerConfiguration) {
				c.Webhook.Suppliers = SuppliersGroups
			}, "webhook.supplierGroups",
		},
		"SuppliersUnused": {
			"the groups would have no effect", func(c *ServerConfiguration) {
				c.Webhook.SupplierGroups = []string{"ci"}
			}, "webhook.supplierGroups",
		},
		"SupplierGroups": {"", func(c *ServerConfiguration) {
			c.Webhook.Suppliers, c.Webhook.SupplierGroups = SuppliersGroups, []string{"", "a", "a", " b"}
		}, "webhook.supplierGroups[0] webhook.supplierGroups[2] webhook.supplierGroups[3]"},
		"Joining": {"", func(c *ServerConfiguration) {
			c.Joining = JoiningConfiguration{Mode: JoinLink, Unjoined: "keep", Window: duration(time.Second)}
		}, "joining.unjoined joining.window"},
		"Aftermath": {
			"",
			func(c *ServerConfiguration) { c.Engine.Aftermath = duration(25 * time.Hour) },
			"engine.aftermath",
		},
		"Patience":   {"", func(c *ServerConfiguration) { c.Engine.Patience = c.Engine.Settle }, "engine.settle"},
		"NoPatience": {"", func(c *ServerConfiguration) { c.Engine.Patience = duration(-1) }, "engine.patience"},
		"Rate": {
			"", func(c *ServerConfiguration) { c.Sampling.RatePerMillion = 1_000_001 }, "sampling.ratePerMillion",
		},
		"Slow": {
			"", func(c *ServerConfiguration) { c.Sampling.KeepSlowerThan = duration(-1) }, "sampling.keepSlowerThan",
		},
		"Outcomes": {
			"in the order of their names", func(c *ServerConfiguration) {
				c.Retention.Outcomes.Failed, c.Retention.Outcomes.Deleted = duration(-1), duration(-time.Hour)
				c.Retention.Outcomes.Unfinished = duration(time.Hour)
			}, "retention.outcomes.deleted retention.outcomes.failed",
		},
		"Small": {
			"", func(c *ServerConfiguration) { c.Retention.Size = resource.MustParse("63Mi") }, "retention.size",
		},
		"Huge": {
			"", func(c *ServerConfiguration) { c.Retention.Size = resource.MustParse("100E") }, "retention.size",
		},
		"Fraction": {
			"", func(c *ServerConfiguration) { c.Retention.Size = resource.MustParse("100000000500m") },
			"retention.size",
		},
		"Endpoints":     {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "collector:4317" }, ""},
		"EndpointURL":   {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "https://c.example/otlp" }, ""},
		"Messages":      {"", func(c *ServerConfiguration) { c.Messages = "some" }, "messages"},
		"MessagesClean": {"", func(c *ServerConfiguration) { c.Messages = MessagesClean }, ""},
		"MessagesOf": {
			"", func(c *ServerConfiguration) {
				c.MessagesOf = []MessagesConfiguration{
					{Group: "example.com", Messages: "keep"}, {Group: "example.com", Kind: "A", Messages: "strict"},
					{Messages: "keep"}, {Group: "example.com", Messages: "keep"}, {Kind: "a b", Messages: "keep"},
					{Group: "EXAMPLE", Messages: "some"},
				}
			}, "messagesOf[2].kind messagesOf[3] messagesOf[4].kind messagesOf[5].group messagesOf[5].messages",
		},
		"EndpointHost":   {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "collector" }, "otlp.endpoint"},
		"EndpointNoHost": {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "http://:80" }, "otlp.endpoint"},
		"EndpointScheme": {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "ftp://c" }, "otlp.endpoint"},
		"EndpointQuery": {
			"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "http://c?token=hunter2" }, "otlp.endpoint",
		},
		"EndpointUser": {"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "http://u:hunter2@c" }, "otlp.endpoint"},
		"EndpointBroken": {
			"", func(c *ServerConfiguration) { c.OTLP.Endpoint = "http://u:hunter2@c:%zz" }, "otlp.endpoint",
		},
		"Outbox": {
			"", func(c *ServerConfiguration) { c.OTLP.Outbox = OutboxConfiguration{} },
			"otlp.outbox.maxAge otlp.outbox.maxSpans",
		},
		"Replicas": {
			"", func(c *ServerConfiguration) { c.Replicas.Mode, c.Replicas.Identity = ModeStandby, "a-1" }, "",
		},
		"Names": {"", func(c *ServerConfiguration) {
			c.Replicas.Name, c.Replicas.Namespace, c.Replicas.Identity = "a.b", "A", strings.Repeat("a", 64)
		}, "replicas.name replicas.namespace replicas.identity"},
		"Lease": {
			"", func(c *ServerConfiguration) { c.Replicas.LeaseDuration = c.Replicas.RenewDeadline },
			"replicas.leaseDuration",
		},
		"Seconds": {
			"", func(c *ServerConfiguration) {
				c.Replicas.LeaseDuration = duration(15500 * time.Millisecond)
			}, "replicas.leaseDuration",
		},
		"Renew": {
			"client-go requires a longer renewDeadline", func(c *ServerConfiguration) {
				c.Replicas.RetryPeriod = duration(9 * time.Second)
			}, "replicas.renewDeadline",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Default()
			tc.change(c)
			var got []string
			for _, err := range c.validate() {
				got = append(got, err.Field)
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("a message contains a credential: %v", err)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if (c.Validate() == nil) != (tc.want == "") {
				t.Errorf("%s: Validate: %v", tc.reason, c.Validate())
			}
		})
	}
}

func TestExcluded(t *testing.T) {
	c := WatchConfiguration{Exclude: []string{"events", "configmaps", "leases.example.com", "*.apps"}}
	want := []schema.GroupResource{
		{Resource: "secrets"}, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
		{Resource: "configmaps"}, {Group: "example.com", Resource: "leases"}, {Group: "apps"},
	}
	if diff := cmp.Diff(want, c.Excluded()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.SecretMetadata = true
	if diff := cmp.Diff(want[1:], c.Excluded()); diff != "" {
		t.Errorf("with the metadata of Secrets: -want +got:\n%s", diff)
	}
}

func TestDiff(t *testing.T) {
	now := Default()
	if reload, restart := Diff(Default(), now); reload != nil || restart != nil {
		t.Errorf("equal configurations: got %v, %v", reload, restart)
	}
	now.Watch.Namespaces = nil
	now.Engine.Patience = duration(60 * time.Minute)
	now.Retention.Size = resource.MustParse("10240Mi")
	if reload, restart := Diff(Default(), now); reload != nil || restart != nil {
		t.Errorf("equivalent values: got %v, %v", reload, restart)
	}
	now.Watch.Namespaces = []string{"a"}
	now.Log = LogConfiguration{Level: LevelDebug, Format: FormatJSON}
	now.Sampling.KeepFailed = false
	now.Retention.Age = duration(time.Hour)
	now.OTLP = OTLPConfiguration{Endpoint: "c:1"}
	reload, restart := Diff(Default(), now)
	if diff := cmp.Diff([]string{"log.level", "sampling.keepFailed", "retention.age", "otlp.outbox.maxAge",
		"otlp.outbox.maxSpans"}, reload); diff != "" {
		t.Errorf("reload: -want +got:\n%s", diff)
	}
	want := []string{"log.format", "watch.namespaces", "otlp.endpoint", "otlp.messages"}
	if diff := cmp.Diff(want, restart); diff != "" {
		t.Errorf("restart: -want +got:\n%s", diff)
	}
}
