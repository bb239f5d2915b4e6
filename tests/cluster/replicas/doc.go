// Package replicas runs the HPA controller of Kubernetes, unmodified, over courses of made-up ticks under virtual time: the oracle of
// `deno task oracle`. Its unexported method is reached by go:linkname, time by testing/synctest.
package replicas
