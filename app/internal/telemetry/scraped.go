// SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Metric is a metric whose values are read at each scrape.
type Metric struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

// Counter returns a counter.
func Counter(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

// Gauge returns a gauge.
func Gauge(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

// Scrape takes the values of one scrape.
type Scrape chan<- prometheus.Metric

// Value adds a value. A counter with labels appears with its first event.
func (s Scrape) Value(m Metric, v float64, labels ...string) {
	if v > 0 || len(labels) == 0 || m.kind == prometheus.GaugeValue {
		s <- prometheus.MustNewConstMetric(m.Desc, m.kind, v, labels...)
	}
}

// Collector returns a collector of metrics. Each scrape calls read.
func Collector(read func(Scrape), metrics ...Metric) prometheus.Collector {
	return collector{read, metrics}
}

type collector struct {
	read    func(Scrape)
	metrics []Metric
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		to <- m.Desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c.read(to) }
