package replicas

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	autoscalinginformers "k8s.io/client-go/informers/autoscaling/v2"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	apisv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"
)

//go:linkname reconcile k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).reconcileAutoscaler
func reconcile(a *podautoscaler.HorizontalController, ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, key string) error

// From 1.37 on the controller reconciles only an HPA that it was told of.
//
//go:linkname enqueue k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).enqueueHPA
func enqueue(a *podautoscaler.HorizontalController, hpa interface{})

//go:linkname forget k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).deleteHPA
func forget(a *podautoscaler.HorizontalController, hpa interface{})

// Course is an HPA and its ticks. Times are ms since the course's start.
type Course struct {
	ID       string                                    `json:"id"`
	Spec     autoscalingv2.HorizontalPodAutoscalerSpec `json:"spec"`
	Replicas int32                                     `json:"replicas"`
	Ticks    []Tick                                    `json:"ticks"`
}

// Tick is what the controller sees at one time.
type Tick struct {
	At int64 `json:"at"`
	// Replicas is what someone else has written meanwhile.
	Replicas *int32 `json:"replicas,omitempty"`
	// Status is scale.status.replicas; spec's without it.
	Status *int32 `json:"status,omitempty"`
	// Refused says that the API server takes no write.
	Refused bool `json:"refused,omitempty"`
	// Spec is the HPA's from here on.
	Spec *autoscalingv2.HorizontalPodAutoscalerSpec `json:"spec,omitempty"`
	Pods []Pod                                      `json:"pods"`
	// Usage is by resource or resource/container, then by pod; a resource that is not there is an error.
	Usage map[string]map[string]*Sample `json:"usage"`
	// External is by metric; one that is not there is asked for.
	External map[string][]int64 `json:"external"`
	// Answers is what the metrics APIs answer, by path and query; a question that is not there has the answer 404.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
}

// Sample is in thousandths.
type Sample struct {
	Value  int64 `json:"value"`
	At     int64 `json:"at"`
	Window int64 `json:"window"`
}

// Pod is the part of a pod that the controller looks at.
type Pod struct {
	Name     string      `json:"name"`
	Phase    v1.PodPhase `json:"phase"`
	Deleting bool        `json:"deleting,omitempty"`
	Start    *int64      `json:"start,omitempty"`
	// Ready is True, False or Unknown; empty without a condition.
	Ready      string                   `json:"ready,omitempty"`
	ReadyAt    int64                    `json:"readyAt"`
	Containers []v1.Container           `json:"containers"`
	Init       []v1.Container           `json:"init,omitempty"`
	Resources  *v1.ResourceRequirements `json:"resources,omitempty"`
	Overhead   v1.ResourceList          `json:"overhead,omitempty"`
}

// Result is what the controller did in a course.
type Result struct {
	ID    string       `json:"id"`
	Ticks []TickResult `json:"ticks"`
}

// TickResult has each condition as Status/Reason.
type TickResult struct {
	After      int32             `json:"after"`
	Wrote      bool              `json:"wrote"`
	Conditions map[string]string `json:"conditions"`
}

// world stands for the API server and the metrics.
type world struct {
	sync.Mutex
	tick         Tick
	start        time.Time
	spec, status int32
	wrote        bool
	pods         []*v1.Pod
	last         *autoscalingv2.HorizontalPodAutoscaler
}

var w = &world{}

func (w *world) at(ms int64) time.Time { return w.start.Add(time.Duration(ms) * time.Millisecond) }

func (w *world) Scales(string) scaleclient.ScaleInterface { return w }

func (w *world) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{
		Spec:   autoscalingv1.ScaleSpec{Replicas: w.spec},
		Status: autoscalingv1.ScaleStatus{Replicas: w.status, Selector: "app=a"},
	}, nil
}

func (w *world) Update(_ context.Context, resource schema.GroupResource, s *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	if w.tick.Refused {
		return nil, apierrors.NewForbidden(resource, "d", fmt.Errorf("refused"))
	}
	w.spec, w.wrote = s.Spec.Replicas, true
	return s, nil
}

func (w *world) Patch(context.Context, schema.GroupVersionResource, string, types.PatchType, []byte, metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	return nil, fmt.Errorf("the controller patches no scale")
}

type hpas struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
}

type hpasGetter struct{}

func (hpasGetter) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return hpas{}
}

func (hpas) UpdateStatus(_ context.Context, h *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	w.last = h.DeepCopy()
	return h, nil
}

type podInformer struct{}

func (podInformer) Informer() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(nil, &v1.Pod{}, 0, cache.Indexers{})
}

func (podInformer) Lister() corelisters.PodLister { return podLister{} }

type podLister struct{ corelisters.PodLister }

func (podLister) Pods(string) corelisters.PodNamespaceLister { return namespacePods{} }

type namespacePods struct{ corelisters.PodNamespaceLister }

func (namespacePods) List(labels.Selector) ([]*v1.Pod, error) { return w.pods, nil }

// hpaInformer never runs: ticks are called for.
type hpaInformer struct{}

func (hpaInformer) Informer() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(nil, &autoscalingv2.HorizontalPodAutoscaler{}, 0, cache.Indexers{})
}

func (hpaInformer) Lister() autoscalinglisters.HorizontalPodAutoscalerLister { return nil }

var _ coreinformers.PodInformer = podInformer{}
var _ autoscalinginformers.HorizontalPodAutoscalerInformer = hpaInformer{}

type source struct{ metrics.MetricsClient }

func (source) GetResourceMetric(_ context.Context, resource v1.ResourceName, _ string, _ labels.Selector, container string) (metrics.PodMetricsInfo, time.Time, error) {
	key := string(resource)
	if container != "" {
		key += "/" + container
	}
	samples, ok := w.tick.Usage[key]
	if !ok {
		return nil, time.Time{}, fmt.Errorf("no metrics")
	}
	out := metrics.PodMetricsInfo{}
	for name, one := range samples {
		window := time.Duration(one.Window) * time.Millisecond
		out[name] = metrics.PodMetric{Value: one.Value, Timestamp: w.at(one.At), Window: window}
	}
	return out, time.Now(), nil
}

// GetExternalMetric asks the real client for a metric whose values the course does not have.
func (s source) GetExternalMetric(name, namespace string, selector labels.Selector) ([]int64, time.Time, error) {
	values, ok := w.tick.External[name]
	if !ok {
		return s.MetricsClient.GetExternalMetric(name, namespace, selector)
	}
	return values, time.Now(), nil
}

// answers stands for the API server of the real clients of the two metrics APIs.
type answers struct{}

func (answers) RoundTrip(request *http.Request) (*http.Response, error) {
	key := request.URL.Path
	if query := request.URL.Query().Encode(); query != "" {
		key += "?" + query
	}
	body, ok := w.tick.Answers[key]
	code := http.StatusOK
	if !ok {
		code = http.StatusNotFound
		body = json.RawMessage(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader(body)),
		Request:    request,
	}, nil
}

// versions says which version of custom.metrics.k8s.io there is.
type versions struct{}

func (versions) PreferredVersion() (schema.GroupVersion, error) {
	return schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta2"}, nil
}

func (versions) Invalidate() {}

func newSource(mapper apimeta.RESTMapper) (source, error) {
	config := &rest.Config{Host: "http://api", Transport: answers{}, QPS: -1}
	external, err := externalmetrics.NewForConfig(config)
	if err != nil {
		return source{}, err
	}
	return source{metrics.NewRESTMetricsClient(nil, custommetrics.NewForConfig(config, mapper, versions{}), external)}, nil
}

func toPod(p Pod) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: "n", Labels: map[string]string{"app": "a"}},
		Spec:       v1.PodSpec{Containers: p.Containers, InitContainers: p.Init, Resources: p.Resources, Overhead: p.Overhead},
		Status:     v1.PodStatus{Phase: p.Phase},
	}
	if p.Deleting {
		now := metav1.NewTime(time.Now())
		pod.DeletionTimestamp = &now
	}
	if p.Start != nil {
		start := metav1.NewTime(w.at(*p.Start))
		pod.Status.StartTime = &start
	}
	if p.Ready != "" {
		ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionStatus(p.Ready), LastTransitionTime: metav1.NewTime(w.at(p.ReadyAt))}
		pod.Status.Conditions = []v1.PodCondition{ready}
	}
	return pod
}

// TestOracle reads courses from standard input, a JSON object each, and writes a line with the result of each.
func TestOracle(t *testing.T) {
	if os.Getenv("ORACLE") == "" {
		t.Skip("no ORACLE: it waits for courses")
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)

	// In the order of preference: a kind that is asked for without a version has to be of one of these.
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}, {Version: "v1"}, {Group: "networking.k8s.io", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, apimeta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, apimeta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, apimeta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, apimeta.RESTScopeNamespace)
	real, err := newSource(mapper)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	controller := podautoscaler.NewHorizontalController(ctx, fake.NewSimpleClientset().CoreV1(), w, hpasGetter{}, mapper, real,
		hpaInformer{}, podInformer{}, 15*time.Second, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)

	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	for n := 0; decoder.More(); n++ {
		var course Course
		if err := decoder.Decode(&course); err != nil {
			t.Fatal(err)
		}
		// Needs and events belong to the name: each course has its own.
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("h", n)}}
		var result Result
		enqueue(controller, hpa)
		synctest.Test(t, func(*testing.T) { result = run(ctx, controller, course, hpa) })
		forget(controller, hpa)
		if err := encoder.Encode(result); err != nil {
			t.Fatal(err)
		}
	}
}

func run(ctx context.Context, controller *podautoscaler.HorizontalController, course Course, hpa *autoscalingv2.HorizontalPodAutoscaler) Result {
	setSpec(hpa, course.Spec)
	w.start, w.spec, w.last = time.Now(), course.Replicas, hpa
	result := Result{ID: course.ID}
	for _, tick := range course.Ticks {
		time.Sleep(time.Until(w.at(tick.At)))
		w.tick, w.wrote = tick, false
		if tick.Spec != nil {
			setSpec(hpa, *tick.Spec)
		}
		if tick.Replicas != nil {
			w.spec = *tick.Replicas
		}
		w.status = w.spec
		if tick.Status != nil {
			w.status = *tick.Status
		}
		w.pods = nil
		for _, p := range tick.Pods {
			w.pods = append(w.pods, toPod(p))
		}
		hpa.Status = w.last.Status
		// What it returns as an error is in the conditions.
		_ = reconcile(controller, ctx, hpa, "n/"+hpa.Name)
		one := TickResult{After: w.spec, Wrote: w.wrote, Conditions: map[string]string{}}
		for _, condition := range w.last.Status.Conditions {
			one.Conditions[string(condition.Type)] = string(condition.Status) + "/" + condition.Reason
		}
		result.Ticks = append(result.Ticks, one)
	}
	return result
}

func setSpec(hpa *autoscalingv2.HorizontalPodAutoscaler, spec autoscalingv2.HorizontalPodAutoscalerSpec) {
	hpa.Spec = spec
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}
	apisv2.SetDefaults_HorizontalPodAutoscaler(hpa)
}
