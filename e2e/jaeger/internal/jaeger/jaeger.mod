module e2e/jaeger

go 1.26.0

require github.com/jaegertracing/jaeger v1.76.0
