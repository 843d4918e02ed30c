// SPDX-License-Identifier: Apache-2.0

package config

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline"
)

// Default returns the default configuration. Each call returns a new, valid value that the caller
// may change.
func Default() *ServerConfiguration {
	return &ServerConfiguration{
		APIVersion: APIVersion,
		Kind:       Kind,
		API: APIConfiguration{
			Address: "127.0.0.1:7070", MaxStreams: 64, Authorization: AuthorizationOpen,
			Authentication: AuthenticationConfiguration{
				ServiceAccounts: ServiceAccountsConfiguration{Audiences: []string{"lifeline"}},
				OIDC:            []OIDCConfiguration{},
				Proxy: ProxyConfiguration{
					AllowedNames: []string{}, UserHeaders: []string{"X-Forwarded-User"},
					GroupHeaders: []string{"X-Forwarded-Groups"},
				},
			},
			Aggregation: AggregationConfiguration{AllowedNames: []string{}},
		},
		Telemetry: TelemetryConfiguration{Address: "127.0.0.1:7071"},
		Log:       LogConfiguration{Level: LevelInfo, Format: FormatText},
		Watch:     WatchConfiguration{Namespaces: []string{}, Exclude: []string{}},
		Webhook: WebhookConfiguration{
			Certificate: CertificateConfiguration{
				Name: "lifeline-webhook", Names: []string{}, Configuration: "lifeline",
			},
			Convention: lifeline.Default.String(), Suppliers: SuppliersAnyone, SupplierGroups: []string{},
		},
		Engine: EngineConfiguration{
			Settle: duration(2 * time.Second), Patience: duration(time.Hour), Aftermath: duration(30 * time.Minute),
		},
		Relations:  []RelationConfiguration{},
		Health:     []HealthConfiguration{},
		Labels:     []string{"app.kubernetes.io/name", "app.kubernetes.io/version"},
		Messages:   MessagesMask,
		MessagesOf: []MessagesConfiguration{},
		ShowValues: []ValuesConfiguration{},
		Joining:    JoiningConfiguration{Mode: JoinRewrite, Unjoined: UnjoinedPass, Window: duration(time.Minute)},
		Sampling:   SamplingConfiguration{RatePerMillion: 1_000_000, KeepFailed: true},
		Retention: RetentionConfiguration{
			Age: duration(7 * 24 * time.Hour), Rollups: duration(400 * 24 * time.Hour),
			Size: resource.MustParse("10Gi"),
		},
		OTLP: OTLPConfiguration{
			Messages: MessagesStrict,
			Outbox:   OutboxConfiguration{MaxAge: duration(24 * time.Hour), MaxSpans: 1_000_000},
		},
		Notices: NoticesConfiguration{
			After: duration(5 * time.Minute), Receivers: []NoticeReceiverConfiguration{},
		},
		Regressions: RegressionsConfiguration{
			Enabled: true, Period: duration(30 * 24 * time.Hour), Interval: duration(10 * time.Minute),
		},
		Replicas: ReplicasConfiguration{
			Mode:          ModeSingle,
			Name:          "lifeline",
			LeaseDuration: duration(15 * time.Second),
			RenewDeadline: duration(10 * time.Second),
			RetryPeriod:   duration(2 * time.Second),
		},
	}
}

func duration(d time.Duration) metav1.Duration {
	return metav1.Duration{Duration: d}
}
